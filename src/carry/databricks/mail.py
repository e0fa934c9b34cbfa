"""Sends an email by SMTP, without authentication."""

import smtplib
import sys
from email.message import EmailMessage

# `@{}` splits what Databricks would read as a reference.
words = [word.replace("@{}", "") for word in sys.argv[1:]]
host, sender, to, cc, bcc, subject, kind, body = words
mail = EmailMessage()
mail["From"], mail["To"], mail["Subject"] = sender, to, subject
if cc:
    mail["Cc"] = cc
mail.set_content(body, subtype=kind)
everyone = [one.strip() for one in f"{to},{cc},{bcc}".split(",") if one.strip()]
with smtplib.SMTP(host) as smtp:
    smtp.send_message(mail, to_addrs=everyone)
