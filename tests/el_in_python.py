"""Evaluates converted expressions as a flow of Prefect does, with the helpers that are copied beside it.

    python tests/el_in_python.py FILE         a list of {"code", "vars", "conf", "state"}

The Python is that of a virtual environment with Prefect. The answer is one list of JSON, in the last line: a text each, or
`{"error": …}`.
"""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

home = tempfile.TemporaryDirectory(prefix="prefect-")
os.environ.update(
    PREFECT_HOME=home.name, PREFECT_LOGGING_LEVEL="CRITICAL", DO_NOT_TRACK="1"
)
carry = Path(__file__).resolve().parent.parent / "src/carry"
# The folder of the helper has the name of the package, and comes last.
sys.path.insert(0, str(carry / "python"))
sys.path.append(str(carry / "prefect"))

import oozie_el as el
import oozie_prefect as oozie


class Folders:
    """Data whose folders are known."""

    def __init__(self, written):
        self.written = written

    def uris(self, _):
        return self.written.split("#")


def rooted(value):
    """A value with the root of the files of a vector."""
    return value.replace("@FS_ROOT@", "/files") if isinstance(value, str) else value


def hdfs_of(files):
    """What `hdfs dfs` answers for the files of a vector."""

    def kind(path):
        name = el.path_of(path).removeprefix("/files").strip("/")
        below = any(other.startswith(f"{name}/") for other in files)
        if name == "" or below or (name in files and files[name] is None):
            return "d", name
        return ("f" if name in files else ""), name

    def asked(words, text=True):
        found, name = kind(words[-1])
        code, out = 0 if found else 1, ""
        if words[:2] == ["-ls", "-d"]:
            fits = re.escape(name).replace(r"\*", "[^/]*").replace(r"\?", "[^/]")
            fits = re.sub(r"\\{(.*?)\\}", lambda m: f"({m[1].replace(',', '|')})", fits)
            code = 0 if any(re.fullmatch(fits, other) for other in files) else 1
        elif words[:2] == ["-test", "-d"]:
            code = 0 if found == "d" else 1
        elif words[0] == "-stat" and found:
            out = str(files.get(name) or 0) if words[1] == "%b" else str(32 << 20)
            out = "0" if found == "d" else out
        elif words[0] == "-ls":
            prefix = f"{name}/" if name else ""
            rest = [other[len(prefix) :] for other in files if other.startswith(prefix)]
            for one in sorted({other.split("/")[0] for other in rest}):
                kinds, inner = kind(f"/files/{prefix}{one}")
                mode = "drwxr-xr-x" if kinds == "d" else "-rw-r--r--"
                size = 0 if kinds == "d" else files[inner]
                out += f"{mode} 1 me us {size} 2026-01-01 00:00 /files/{prefix}{one}\n"
        return SimpleNamespace(returncode=code, stdout=out)

    return asked


def run_of(vector):
    """A run as the vector has it."""
    state = vector.get("state") or {}
    given = state.get("conf") or {}
    params = {name: value.strip() for name, value in given.items() if value}
    params.update(vector.get("vars") or {})
    if "appPath" in state:
        params["oozie.wf.application.path"] = state["appPath"]
    params.setdefault("oozie.wf.application.path", "")
    params["user.name"] = state.get("user") or params.get("user.name", "")
    run = oozie.Run({name: rooted(value) for name, value in params.items()})
    if state.get("nominal"):
        run.nominal = el.parse_time(state["nominal"])
    if state.get("actual"):
        run.began = el.parse_time(state["actual"])
    run.job_id = lambda: state.get("id") or state.get("actionId") or ""
    run.rerun = lambda: int(state.get("run", 1))
    for name, node in (state.get("nodes") or {}).items():
        if (node or {}).get("data") is not None:
            run.data[name] = el.properties(node["data"])
    oozie._hdfs = hdfs_of(state.get("files") or {})
    data = {**(state.get("dataIn") or {}), **(state.get("dataOut") or {})}
    return run, {name: Folders(written) for name, written in data.items()}


def answer(vector):
    """What code comes to."""
    try:
        run, data = run_of(vector)
        value = eval(
            vector["code"], {"el": el, "oozie": oozie, "run": run, "data": data}
        )
    except Exception as error:  # noqa: BLE001 Whatever fails here fails a node.
        return {"error": f"{type(error).__name__}: {error}"[:200]}
    return value if isinstance(value, str) else {"error": f"{value!r} is not a text"}


print(
    "\n"
    + json.dumps([answer(one) for one in json.loads(Path(sys.argv[1]).read_text())])
)
