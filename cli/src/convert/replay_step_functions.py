"""Plays scenarios with converted state machines in moto's interpreter of the Amazon States Language, with the tasks stubbed.

    python replay_step_functions.py OUT SCENARIOS ANSWERS

`OUT` is what `ankus convert --to step-functions -o OUT` wrote; scenarios and answers are those of `replay.py`, for Airflow. The
interpreter has no JSONata of its own here, and takes that of `jsonata-python`. Nothing outside this process is reached.
"""

from __future__ import annotations

import json
import logging
import os
import re
import sys
import threading
import time
import types
import urllib.parse
from pathlib import Path
from typing import Any, ClassVar

os.environ.update(
    AWS_ACCESS_KEY_ID="x",
    AWS_SECRET_ACCESS_KEY="x",
    AWS_DEFAULT_REGION="us-east-1",
    AWS_ACCOUNT_ID="123456789012",
)

import boto3
from jsonata import Jsonata
from moto import mock_aws
from moto.stepfunctions.parser.api import HistoryEventType
from moto.stepfunctions.parser.asl.component.common.error_name.failure_event import (
    FailureEvent,
    FailureEventException,
)
from moto.stepfunctions.parser.asl.component.common.error_name.states_error_name import (
    StatesErrorName,
)
from moto.stepfunctions.parser.asl.component.common.error_name.states_error_name_type import (
    StatesErrorNameType as Error,
)
from moto.stepfunctions.parser.asl.component.common.retry import retrier_decl
from moto.stepfunctions.parser.asl.component.state.exec.state_task import (
    state_task_factory,
)
from moto.stepfunctions.parser.asl.component.state.exec.state_task.service import (
    state_task_service,
)
from moto.stepfunctions.parser.asl.eval import states, variable_store
from moto.stepfunctions.parser.asl.eval.event.event_detail import EventDetails
from moto.stepfunctions.parser.asl.jsonata import jsonata as bridge
from moto.stepfunctions.parser.asl.parse import asl_parser
from moto.stepfunctions.parser.asl.utils.encoding import to_json_str
from moto.stepfunctions.parser.backend import execution_worker

OUT = Path(sys.argv[1]).resolve()
# Inputs without which a machine fails, and names of secrets: those that stand in a definition are known to no scenario.
NEEDED = re.compile(r"\$string\(\$states\.input\.`?([^`)]+)`?\) %}")
SECRET = re.compile("passw|passphrase|secret|token|key|credential", re.IGNORECASE)
ROLE = "arn:aws:iam::123456789012:role/x"
WAITS = "Wait for "
LOCK = threading.Lock()


class Scene:
    """What is played at the moment."""

    scenario: ClassVar[dict[str, Any]] = {}
    states: ClassVar[dict[str, str]] = {}
    found: ClassVar[dict[str, list[str]]] = {}
    unread: ClassVar[set[str]] = set()
    began: ClassVar[str | None] = None


def node(state: str) -> str:
    """The node that a state was made of, as the scenario names it."""
    return re.sub(r"[^A-Za-z0-9_.-]", "_", re.sub(r" \(\d+\)$", "", state))


def evaluated(code: str) -> Any:
    """The value of JSONata."""
    try:
        with LOCK:
            return Jsonata(code).evaluate(None)
    except Exception as error:
        raise bridge.JSONataException("UNKNOWN", str(error)) from error


def declared(bindings: dict[str, Any]) -> str:
    """Variables, as JSONata; the interpreter's own leaves quotes in texts as they are."""
    return "".join(f"{name}:={to_json_str(value)};" for name, value in bindings.items())


class Stubbed(state_task_service.StateTaskService):
    """A task that does what the scenario says, once its arguments were evaluated."""

    def _validate_service_integration_is_supported(self) -> None:
        pass

    def _eval_service_task(self, *_: Any, **__: Any) -> None:
        pass

    def _fail(self, env: Any, error: Error, cause: str) -> None:
        details = {"error": error.to_name(), "cause": cause}
        raise FailureEventException(
            failure_event=FailureEvent(
                env=env,
                error_name=StatesErrorName(typ=error),
                event_type=HistoryEventType.TaskFailed,
                event_details=EventDetails(taskFailedEventDetails=details),
            )
        )

    def _eval_execution(self, env: Any) -> None:
        name = node(self.name)
        Scene.states[name] = "failed"
        self.resource.eval(env=env)
        env.stack.pop()
        try:
            arguments = self._eval_parameters(env=env)
        except bridge.JSONataException as error:
            Scene.unread.add(name)
            # The interpreter has another name for it than AWS.
            self._fail(env, Error.StatesQueryEvaluationError, str(error.details))
        if self.name.startswith(WAITS):
            self._look(env, arguments["Step"]["HadoopJarStep"]["Args"])
        elif (told := Scene.scenario["tasks"].get(name, {})).get("result", "ok") != "ok":
            # What runs beside it has begun by then.
            time.sleep(0.2)
            cause = told.get("message", "as the scenario says")
            self._fail(env, Error.StatesTaskFailed, cause)
        Scene.states[name] = "success"
        env.stack.append({})

    def _look(self, env: Any, arguments: list[str]) -> None:
        """Looks once for what the step would look for every minute."""
        uris = [uri for uri in arguments[4].split(",") if uri]
        flag = arguments[5]
        name = re.sub(r"[^A-Za-z0-9]", "_", self.name.removeprefix(WAITS))
        Scene.found[f"wait_for_{name}"] = uris
        files = Scene.scenario.get("files", {})
        for uri in uris:
            path = urllib.parse.urlparse(uri).path.rstrip("/") + flag
            if path not in files and not any(
                one.startswith(f"{path}/") for one in files
            ):
                # No retry takes this error.
                self._fail(env, Error.StatesTimeout, "the data do not come")


def data_of(**given: Any) -> states.ExecutionData:
    """What an execution knows of itself: it starts at its nominal time."""
    if Scene.began is not None:
        given["StartTime"] = Scene.began
    return states.ExecutionData(**given)


class Cached(asl_parser.ASLParser):
    """Reads each definition once: for every execution it would take a second."""

    trees: ClassVar[dict[str, Any]] = {}

    def state_machine(self) -> Any:
        """The tree of a definition."""
        text = self.getInputStream().tokenSource.inputStream.strdata
        if text not in Cached.trees:
            Cached.trees[text] = super().state_machine()
        return Cached.trees[text]


def stub() -> None:
    """Puts stubs in the place of what reaches the outside, and of what waits."""
    asl_parser.ASLParser = Cached
    bridge._eval_jsonata = evaluated
    for module in (bridge, states, variable_store):
        module.encode_jsonata_variable_declarations = declared
    state_task_factory.state_task_service_for = lambda **_: Stubbed()
    execution_worker.ExecutionData = data_of
    retrier_decl.time = types.SimpleNamespace(sleep=lambda _: None)


def events(client: Any, execution: str) -> list[dict[str, Any]]:
    """The history of an execution."""
    pages = client.get_paginator("get_execution_history").paginate(
        executionArn=execution
    )
    return [event for page in pages for event in page["events"]]


def played(
    client: Any, machine: str, scenario: dict[str, Any], number: int
) -> dict[str, Any]:
    """One scenario."""
    Scene.scenario, Scene.states, Scene.found = scenario, {}, {}
    Scene.unread = set()
    text = client.describe_state_machine(stateMachineArn=machine)["definition"]
    given = {name: "a secret" for name in NEEDED.findall(text) if SECRET.search(name)}
    for known in ("conf", "secrets", "changes"):
        given.update(scenario.get(known, {}))
    Scene.began = None
    if scenario.get("nominal"):
        given["nominalTime"] = scenario["nominal"].replace("Z", ":00Z")
        # The schedule starts a run at its nominal time.
        Scene.began = given["nominalTime"]
    started = client.start_execution(
        stateMachineArn=machine, name=f"run{number}", input=json.dumps(given)
    )
    execution = started["executionArn"]
    end = time.monotonic() + 60
    run = client.describe_execution(executionArn=execution)
    while run["status"] == "RUNNING":
        if time.monotonic() > end:
            return {"error": "it does not end"}
        time.sleep(0.05)
        run = client.describe_execution(executionArn=execution)
    order = []
    for event in events(client, execution):
        details = event.get("stateEnteredEventDetails")
        # What only passes has the name of a join in each branch.
        if details and not event["type"].startswith(("Pass", "Succeed")):
            name = node(details["name"])
            order.append(name)
            if event["type"].startswith(("Fail", "Choice")):
                Scene.states[name] = "failed"
        details = event.get("stateExitedEventDetails")
        if details and event["type"].startswith("Choice"):
            Scene.states[node(details["name"])] = "success"
    return {
        "state": "success" if run["status"] == "SUCCEEDED" else "failed",
        "states": Scene.states,
        "order": order,
        "messages": [run["cause"]] if run.get("cause") else [],
        "found": Scene.found,
        "unread": sorted(Scene.unread),
        "errors": {"execution": f"{run.get('error')}: {run.get('cause')}"[:400]},
    }


def main() -> None:
    """Plays all of them."""
    scenarios = json.loads(Path(sys.argv[2]).read_text())
    logging.disable(logging.CRITICAL)
    stub()
    answers, machines = [], {}
    with mock_aws(config={"stepfunctions": {"execute_state_machine": True}}):
        client = boto3.client("stepfunctions")
        for number, scenario in enumerate(scenarios):
            flow = scenario["flow"]
            try:
                if flow not in machines:
                    text = (OUT / "state-machines" / f"{flow}.asl.json").read_text()
                    made = client.create_state_machine(
                        name=f"machine{len(machines)}", definition=text, roleArn=ROLE
                    )
                    machines[flow] = made["stateMachineArn"]
                answers.append(played(client, machines[flow], scenario, number))
            except Exception as error:  # noqa: BLE001 Whatever it is, the other scenarios go on.
                answers.append({"error": f"{type(error).__name__}: {error}"[:400]})
    Path(sys.argv[3]).write_text(json.dumps(answers))


main()
