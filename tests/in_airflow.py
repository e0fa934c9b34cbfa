"""Asks a real Airflow about converted DAGs: whether they import, and when they run.

    python tests/in_airflow.py import OUT             every file in one DagBag, warnings included
    python tests/in_airflow.py times OUT FILE         nominal times of each DAG, beside those in FILE

The Python is that of a virtual environment with Airflow. Answers are one object of JSON, in the last line.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import warnings
from pathlib import Path

out = Path(sys.argv[2]).resolve()
home = Path(os.environ.get("AIRFLOW_HOME") or tempfile.mkdtemp(prefix="airflow-"))
os.environ["AIRFLOW_HOME"] = str(home)
os.environ["AIRFLOW__CORE__LOAD_EXAMPLES"] = "False"
os.environ["AIRFLOW__CORE__PLUGINS_FOLDER"] = str(out / "plugins")
os.environ["AIRFLOW__CORE__DAGS_FOLDER"] = str(out / "dags")
os.environ["AIRFLOW__CORE__DAGBAG_IMPORT_TIMEOUT"] = "600"
os.environ["AIRFLOW__LOGGING__LOGGING_LEVEL"] = "ERROR"
sys.path.insert(0, str(out / "plugins"))


def bag():
    """Every DAG of the output, and the errors."""
    try:
        from airflow.dag_processing.dagbag import DagBag
    except ImportError:
        from airflow.models.dagbag import DagBag
    return DagBag(str(out / "dags"))


def imported():
    """Errors of imports, and warnings whose origin is a file of the output."""
    # It puts its own way of showing warnings in place, which `catch_warnings` must not lose.
    import airflow.settings  # noqa: F401

    seen = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        dags = bag()
        for warning in caught:
            if str(out) in str(warning.filename) or "oozie" in str(warning.filename):
                seen.append(f"{warning.filename}: {warning.category.__name__}: {warning.message}")
    errors = {path: text[-600:] for path, text in dags.import_errors.items()}
    return {"dags": len(dags.dags), "errors": errors, "warnings": sorted(set(seen))}


def times(wanted):
    """The first nominal times of each DAG that the file names, as the scheduler would create its runs."""
    import pendulum
    from airflow.timetables.base import DataInterval, TimeRestriction

    dags, wrong, compared = bag(), {}, 0
    for name, expected in wanted.items():
        dag = dags.dags.get(name)
        if dag is None:
            wrong[name] = "there is no such DAG"
            continue
        timetable = dag.timetable
        if not hasattr(timetable, "next_dagrun_info"):
            from airflow.serialization.encoders import coerce_to_core_timetable

            timetable = coerce_to_core_timetable(timetable)
        window = TimeRestriction(dag.start_date, dag.end_date, catchup=True)
        last, found = None, []
        while len(found) < len(expected) + 1:
            info = timetable.next_dagrun_info(last_automated_data_interval=last, restriction=window)
            if info is None:
                break
            at = pendulum.instance(info.run_after).in_timezone("UTC")
            found.append(at.strftime("%Y-%m-%dT%H:%MZ"))
            last = info.data_interval or DataInterval.exact(info.run_after)
        compared += len(expected)
        # The file has the beginning only of those that go on.
        mine = found if len(expected) < 200 else found[: len(expected)]
        if mine != expected:
            pairs = [(a, b) for a, b in zip(mine, expected) if a != b][:3]
            wrong[name] = {"first": pairs, "lengths": [len(mine), len(expected)]}
    return {"dags": len(wanted), "times": compared, "wrong": wrong}


def main():
    """Does what the arguments ask."""
    verb = sys.argv[1]
    if verb == "import":
        answer = imported()
    else:
        answer = times(json.loads(Path(sys.argv[3]).read_text()))
    print("\n" + json.dumps(answer))


main()
