"""Runs commands of Airflow in one process, which is started once, and prints what each of them printed.

    python airflow_commands.py '[["db", "migrate"], ["pools", "list", "-o", "json"]]'

The last line is a JSON list with a text for each command. A command that fails ends the program as Airflow ends it.
"""

import contextlib
import io
import json
import os
import sys

os.environ["AIRFLOW__CORE__LOAD_EXAMPLES"] = "False"
from airflow.__main__ import main

printed = []
for command in json.loads(sys.argv[1]):
    sys.argv = ["airflow", *command]
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        main()
    printed.append(text.getvalue())
print(json.dumps(printed))
