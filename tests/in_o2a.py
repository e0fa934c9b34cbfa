"""Converts workflows with o2a, one after another in one process, which spares it a start of Python for each.

    python tests/in_o2a.py OUT < LIST        paths of workflows as a list of JSON

The Python is that of a virtual environment with o2a. The answer is one object of JSON, in the last line: how many of the
workflows were converted, the seconds that took, and by workflow the first line of what went wrong.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path

os.environ.setdefault("USER", "airflow")
sys.argv[1:], arguments = [], sys.argv[1:]
import o2a.o2a as o2a  # noqa: E402

# Its check against schemas 1.0 needs xmllint, and refuses what is written for older ones: without it more is converted.
o2a.get_o2a_validate_workflows_script = lambda: None


def laid_out(workflow: Path, folder: Path) -> None:
    """The folders that o2a wants: the application in `hdfs`, its properties beside it."""
    (folder / "hdfs").mkdir()
    shutil.copy(workflow, folder / "hdfs/workflow.xml")
    properties = workflow.parent / "job.properties"
    if properties.is_file():
        shutil.copy(properties, folder / "job.properties")
    (folder / "configuration.properties").write_text(
        "dataproc_cluster=cluster\ngcp_region=region\ngcp_conn_id=google\n"
    )


def converted(workflow: Path, name: str, out: Path) -> str:
    """Converts one; what went wrong, or nothing."""
    with tempfile.TemporaryDirectory() as folder:
        laid_out(workflow, Path(folder))
        made = Path(folder) / "made"
        sys.argv[1:] = ["-i", folder, "-o", str(made), "-n", name, "-u", "airflow"]
        try:
            with (
                contextlib.redirect_stdout(io.StringIO()),
                contextlib.redirect_stderr(io.StringIO()),
            ):
                o2a.main()
        except SystemExit as ended:
            if ended.code:
                return f"exit {ended.code}"
        except Exception as error:
            return f"{type(error).__name__}: {error}".splitlines()[0][:100]
        if not (made / f"{name}.py").is_file():
            return "there is no output"
        for file in made.glob("*.py"):
            shutil.copy(file, out / file.name)
    return ""


def main() -> None:
    """Does what the arguments ask."""
    out = Path(arguments[0]).resolve() / "dags"
    out.mkdir(parents=True)
    workflows = [Path(one) for one in json.load(sys.stdin)]
    begun = time.monotonic()
    wrong = {}
    for number, workflow in enumerate(workflows):
        why = converted(workflow, f"w{number}", out)
        if why:
            wrong[str(workflow)] = why
    seconds = time.monotonic() - begun
    print(
        "\n"
        + json.dumps(
            {
                "workflows": len(workflows),
                "converted": len(workflows) - len(wrong),
                "seconds": round(seconds, 1),
                "wrong": wrong,
            }
        )
    )


main()
