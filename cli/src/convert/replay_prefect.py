"""Plays scenarios with converted flows in a real Prefect, with the programs stubbed.

    python replay_prefect.py OUT SCENARIOS ANSWERS

`OUT` is what `ankus convert --to prefect -o OUT` wrote; scenarios and answers are those of `replay.py`, for Airflow. Prefect
keeps its runs in a database of its own, which is gone afterwards, and no program is started.
"""

from __future__ import annotations

import importlib
import json
import logging
import os
import re
import sys
import tempfile
import threading
import urllib.parse
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

OUT = Path(sys.argv[1]).resolve()
home = tempfile.TemporaryDirectory(prefix="replay-")
os.environ.update(
    PREFECT_HOME=home.name,
    PREFECT_LOGGING_LEVEL="CRITICAL",
    PREFECT_LOGGING_TO_API_ENABLED="false",
    PREFECT_SERVER_ANALYTICS_ENABLED="false",
    DO_NOT_TRACK="1",
)
sys.path.insert(0, str(OUT / "flows"))

import oozie_el as el
import oozie_prefect as oozie

STATES = {
    oozie.OK: "success",
    oozie.ERROR: "failed",
    oozie.SKIPPED: "skipped",
    oozie.STOPPED: "upstream_failed",
}


class Scene:
    """What is played at the moment."""

    scenario: ClassVar[dict[str, Any]] = {}
    order: ClassVar[list[str]] = []
    messages: ClassVar[list[str]] = []
    found: ClassVar[dict[str, list[str]]] = {}
    killing: ClassVar[set[str]] = set()
    run: ClassVar[Any] = None
    own = threading.local()


class Stubbed(oozie.Run):
    """A run whose programs do what the scenario says."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        # The run that is played is the first; those of sub-workflows are not begun.
        Scene.run = Scene.run or self

    def step(self, name: str, **given: Any) -> Any:
        """Keeps which node a program belongs to, and when it began. Nobody waits between its tries."""
        if given.get("retry_delay_seconds"):
            given["retry_delay_seconds"] = 0
        add = super().step(name, **given)

        def added(work: Callable[[], Any]) -> Any:
            def began() -> Any:
                Scene.own.node = name
                Scene.order.append(name)
                return work()

            return add(began)

        return added

    def _do(self) -> None:
        told = Scene.scenario["tasks"].get(Scene.own.node, {})
        if told.get("result", "ok") != "ok":
            raise oozie.ActionFailed(told.get("message", "as the scenario says"))
        self.data[Scene.own.node] = el.properties(told.get("output", ""))

    def command(self, *_: Any, **__: Any) -> None:
        """Starts nothing."""
        self._do()

    def email(self, **_: Any) -> None:
        """Sends nothing."""
        self._do()

    def sub_workflow(self, *_: Any) -> None:
        """Begins nothing."""
        self._do()

    def kill(self, message: str) -> None:
        """Keeps the message."""
        Scene.messages.append(message)
        Scene.killing.add(Scene.own.node)
        super().kill(message)

    def secret(self, name: str) -> str:
        """The value of the scenario."""
        key = re.sub(r"[^A-Za-z0-9]", "_", name)
        return Scene.scenario.get("variables", {}).get(key, "")

    def wait_for(self, data: Any, minutes: int = -1) -> None:
        """Looks once."""
        if not data.needs_looking:
            Scene.found[Scene.own.node] = data.uris(self.nominal)
        found = data.look(self.nominal, self.began, self.exists)
        if found is None:
            self._end("the data do not come")
            raise oozie.Stopped("the data do not come")
        self.found[id(data)] = found

    def _kind(self, uri: str) -> str:
        path = urllib.parse.urlparse(uri).path.rstrip("/") or "/"
        files = Scene.scenario.get("files", {})
        if path in files:
            return "FILE"
        below = path.rstrip("/") + "/"
        return "DIRECTORY" if any(file.startswith(below) for file in files) else ""

    def exists(self, uri: str) -> bool:
        """Whether the scenario has it."""
        return bool(self._kind(uri))

    def is_dir(self, uri: str) -> bool:
        """Whether it is a folder of the scenario."""
        return self._kind(uri) == "DIRECTORY"


def played(scenario: dict[str, Any]) -> dict[str, Any]:
    """One scenario."""
    Scene.scenario = scenario
    Scene.order, Scene.messages, Scene.found = [], [], {}
    Scene.killing, Scene.run = set(), None
    try:
        flow = getattr(importlib.import_module(scenario["flow"]), scenario["flow"])
        params = {**scenario["conf"], **scenario.get("changes", {})}
        state = flow(
            params=params, nominal_time=scenario.get("nominal"), return_state=True
        )
    except Exception as error:  # noqa: BLE001 Whatever it is, the other scenarios go on.
        return {"error": f"{type(error).__name__}: {error}"[:400]}
    ways = Scene.run.ways if Scene.run else {}
    states = {name: STATES[way] for name, way in ways.items()}
    states.update(dict.fromkeys(Scene.killing, "failed"))
    return {
        "state": "success" if state.is_completed() else "failed",
        "states": states,
        "order": Scene.order,
        "messages": Scene.messages,
        "found": Scene.found,
        "errors": {"flow": str(state.message)} if state.is_failed() else {},
    }


def main() -> None:
    """Plays all of them."""
    scenarios = json.loads(Path(sys.argv[2]).read_text())
    logging.disable(logging.CRITICAL)
    # What Prefect says of every run is of no use here.
    quiet = os.open(os.devnull, os.O_WRONLY)
    if not os.environ.get("REPLAY_LOUD"):
        os.dup2(quiet, 1)
    oozie.Run = Stubbed
    from prefect.testing.utilities import prefect_test_harness

    with prefect_test_harness(server_startup_timeout=120):
        answers = [played(one) for one in scenarios]
    Path(sys.argv[3]).write_text(json.dumps(answers))


main()
