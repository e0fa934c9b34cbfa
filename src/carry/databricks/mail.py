"""Sends a mail by SMTP, without a password."""

import smtplib
import sys
from email.message import EmailMessage

host, sender, to, cc, bcc, subject, kind, body = sys.argv[1:]
mail = EmailMessage()
mail["From"], mail["To"], mail["Subject"] = sender, to, subject
if cc:
    mail["Cc"] = cc
mail.set_content(body, subtype=kind)
everyone = [one.strip() for one in ",".join([to, cc, bcc]).split(",") if one.strip()]
with smtplib.SMTP(host) as smtp:
    smtp.send_message(mail, to_addrs=everyone)
