"""Asks a real Prefect about converted flows.

    python tests/in_prefect.py import OUT             every file of it
    python tests/in_prefect.py times OUT FILE         nominal times of each flow, beside those in FILE

The Python is that of a virtual environment with Prefect (`tests/prefect-env.sh`). The answer is JSON, in the last line.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import importlib
import json
import os
import runpy
import sys
import tempfile
import warnings
from pathlib import Path

home = tempfile.TemporaryDirectory(prefix="prefect-")
os.environ.update(
    PREFECT_HOME=home.name, PREFECT_LOGGING_LEVEL="CRITICAL", DO_NOT_TRACK="1"
)
out = Path(sys.argv[2]).resolve()
sys.path.insert(0, str(out / "flows"))

import prefect
from prefect.server.schemas import schedules as server

OWN = ("oozie_data", "oozie_el", "oozie_prefect")


def imported():
    """Every file, with what goes wrong and what is warned of."""
    errors, flows = {}, 0
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for file in sorted((out / "flows").glob("*.py")):
            try:
                module = importlib.import_module(file.stem)
            except Exception as error:  # noqa: BLE001 Whatever it is, the others are asked, too.
                errors[file.name] = f"{type(error).__name__}: {error}"[:300]
                continue
            if file.stem not in OWN:
                flows += isinstance(getattr(module, file.stem), prefect.Flow)
    mine = [str(one.message) for one in caught if str(out) in one.filename]
    return {"flows": flows, "errors": errors, "warnings": mine}


def served(name):
    """The schedules that a file serves its flow with."""
    found = []
    serve = prefect.Flow.serve
    prefect.Flow.serve = lambda _, **given: found.extend(given["schedules"])
    try:
        runpy.run_path(str(out / "flows" / f"{name}.py"), run_name="__main__")
    finally:
        prefect.Flow.serve = serve
    return found


def schedule(one):
    """A schedule as the server of Prefect reads it."""
    if one.cron:
        return server.CronSchedule(
            cron=one.cron, timezone=one.timezone, day_or=one.day_or
        )
    if one.interval:
        anchor = {"anchor_date": one.anchor_date} if one.anchor_date else {}
        return server.IntervalSchedule(
            interval=one.interval, timezone=one.timezone, **anchor
        )
    return server.RRuleSchedule(rrule=one.rrule, timezone=one.timezone or "UTC")


async def times(wanted):
    """Compares nominal times from the first of each flow on."""
    wrong, compared = {}, 0
    for name, expected in wanted.items():
        if not expected:
            continue
        start = dt.datetime.strptime(expected[0], "%Y-%m-%dT%H:%MZ").replace(
            tzinfo=dt.UTC
        )
        [one] = served(name)
        dates = await schedule(one).get_dates(len(expected), start=start)
        found = [at.astimezone(dt.UTC).strftime("%Y-%m-%dT%H:%MZ") for at in dates]
        compared += len(expected)
        if found != expected:
            pairs = [(a, b) for a, b in zip(found, expected, strict=False) if a != b][
                :3
            ]
            wrong[name] = {"first": pairs, "lengths": [len(found), len(expected)]}
    return {"flows": len(wanted), "times": compared, "wrong": wrong}


if sys.argv[1] == "import":
    answer = imported()
else:
    answer = asyncio.run(times(json.loads(Path(sys.argv[3]).read_text())))
print("\n" + json.dumps(answer))
