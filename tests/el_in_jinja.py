"""Renders converted expressions as Airflow does, with the helpers that are copied beside converted DAGs.

    python tests/el_in_jinja.py FILE         a list of {"template", "vars", "conf", "state"}

The Python is that of a virtual environment with Airflow. The answer is one list of JSON, in the last line: a text each, or
`{"error": …}`.
"""

from __future__ import annotations

import base64
import datetime as dt
import json
import os
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

os.environ.setdefault("AIRFLOW_HOME", tempfile.mkdtemp(prefix="airflow-"))
os.environ["AIRFLOW__LOGGING__LOGGING_LEVEL"] = "ERROR"
carry = Path(__file__).resolve().parent.parent / "src/carry"
sys.path[:0] = [str(carry / "airflow"), str(carry / "python")]

import jinja2
import jinja2.sandbox
import oozie_airflow as oozie
import oozie_el as el

# Ids are never those of a server.
oozie.job_id = lambda run: run.run_id

environment = jinja2.sandbox.SandboxedEnvironment(
    undefined=jinja2.StrictUndefined, cache_size=0
)
environment.globals.update(el=el, oozie=oozie)
environment.filters["q"] = el.quote


class Folders:
    """Data whose folders are known."""

    needs_looking = False

    def __init__(self, written):
        self.written = written

    def uris(self, at):
        return self.written.split("#")


class Files:
    """A cluster that has the files of a vector."""

    def __init__(self, files):
        self.files = files

    def status(self, path, strict=True):
        name = path.removeprefix("/files").strip("/")
        below = [other for other in self.files if other.startswith(f"{name}/")]
        if name == "" or below or (name in self.files and self.files[name] is None):
            return {"type": "DIRECTORY", "length": 0, "blockSize": 0}
        if name in self.files:
            size = self.files[name]
            return {"type": "FILE", "length": size, "blockSize": 32 << 20}
        return None

    def list(self, path, status=False):
        name = path.removeprefix("/files").strip("/")
        prefix = f"{name}/" if name else ""
        rest = {
            other[len(prefix) :] for other in self.files if other.startswith(prefix)
        }
        names = sorted({other.split("/")[0] for other in rest})
        return [(one, self.status(f"/files/{prefix}{one}")) for one in names]


def instant(text):
    """An instant, or the present."""
    return el.parse_time(text) if text else dt.datetime.now(dt.timezone.utc)


def rooted(value):
    """A value with the root of the files of a vector."""
    return value.replace("@FS_ROOT@", "/files") if isinstance(value, str) else value


def context_of(vector):
    """What Airflow gives a template."""
    state = vector.get("state") or {}
    # The blanks around properties are gone when they become parameters.
    given = state.get("conf") or {}
    params = {name: value.strip() for name, value in given.items() if value}
    params.update(vector.get("vars") or {})
    if "appPath" in state:
        params["oozie.wf.application.path"] = state["appPath"]
    params.setdefault("oozie.wf.application.path", "")
    files = Files({name: size for name, size in (state.get("files") or {}).items()})
    hook = SimpleNamespace(
        get_conn=lambda: files,
        check_for_path=lambda hdfs_path: files.status(hdfs_path) is not None,
    )
    import airflow.providers.apache.hdfs.hooks.webhdfs as webhdfs

    webhdfs.WebHDFSHook = lambda webhdfs_conn_id: hook
    nodes = state.get("nodes") or {}

    def captured(task_ids=None, key=None):
        data = (nodes.get(task_ids) or {}).get("data")
        if data is None:
            return None
        return base64.b64encode(data.encode()).decode()

    nominal = instant(state.get("nominal"))
    run = SimpleNamespace(
        logical_date=nominal,
        run_after=nominal,
        start_date=instant(state.get("actual")),
        run_id=state.get("id") or state.get("actionId") or "",
    )
    data = {**(state.get("dataIn") or {}), **(state.get("dataOut") or {})}
    params = {"user.name": state.get("user") or "", **params}
    return {
        "params": {name: rooted(value) for name, value in params.items()},
        "dag_run": run,
        "run_id": state.get("id") or state.get("actionId") or "",
        "ti": SimpleNamespace(
            xcom_pull=captured, try_number=int(state.get("run", 1)) + 1
        ),
        "data": {name: Folders(written) for name, written in data.items()},
    }


def answer(vector):
    """What a template comes to."""
    try:
        text = environment.from_string(vector["template"]).render(context_of(vector))
    except Exception as error:  # Whatever fails here fails a task.
        return {"error": f"{type(error).__name__}: {error}"[:200]}
    return text


print(
    "\n"
    + json.dumps([answer(one) for one in json.loads(Path(sys.argv[1]).read_text())])
)
