"""Runs a command on the driver, and fails as it does.

With --capture first, the lines `key=value` that the command prints become task values. `@{secret:SCOPE/KEY}` in an argument
is the value of a secret, and `@{}` is nothing: it keeps apart what Databricks would read as a reference.
"""

import re
import subprocess
import sys


def dbutils():
    from databricks.sdk.runtime import dbutils

    return dbutils


def main() -> None:
    words = sys.argv[1:]
    capture = words[0] == "--capture"

    def secret(match: re.Match[str]) -> str:
        return dbutils().secrets.get(match[1], match[2]) if match[1] else ""

    def meant(word: str) -> str:
        return re.sub(r"@\{(?:secret:([\w-]+)/([^}]+))?\}", secret, word)

    command = [meant(word) for word in words[capture:]]
    out = subprocess.PIPE if capture else None
    done = subprocess.run(command, stdout=out, text=True, check=False)
    for line in (done.stdout or "").splitlines():
        print(line)
        key, equals, value = line.partition("=")
        if equals and done.returncode == 0:
            dbutils().jobs.taskValues.set(key.strip(), value.strip())
    if done.returncode != 0:
        raise SystemExit(f"the command ended with {done.returncode}")


main()
