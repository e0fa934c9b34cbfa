"""What converted flows need and Prefect does not have: nodes with Oozie's transitions, kill nodes, and waits for data.

Put this file, `oozie_data.py` and `oozie_el.py` next to the flows. It works with Prefect 3.
"""

from __future__ import annotations

import datetime as dt
import importlib
import os
import shlex
import signal
import smtplib
import subprocess
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from email.message import EmailMessage
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from prefect import allow_failure, get_run_logger, task
from prefect.runtime import flow_run
from prefect.states import Completed, Failed, State

import oozie_el as el
from oozie_data import Data, Dataset, Logic, MissingDataset

__all__ = ["Data", "Dataset", "Logic", "MissingDataset", "Run", "start"]
UTC = ZoneInfo("UTC")
# The ways in which a run can leave a node.
OK, ERROR, SKIPPED, STOPPED = "OK", "ERROR", "SKIPPED", "STOPPED"
# Seconds between two checks.
PAUSE = 0.2


class ActionFailed(Exception):
    """An action took its `error` transition."""

    def __init__(self, message: str, code: str = "FAILED") -> None:
        super().__init__(message)
        self.code = code


class Stopped(Exception):
    """The run ended while one of its actions was running."""


@dataclass
class Step:
    """A node, with the nodes that it follows."""

    name: str
    work: Callable[[], Any]
    after: list[str] = field(default_factory=list)
    after_failed: list[str] = field(default_factory=list)
    waits_for: str = "all"
    retries: int = 0
    retry_delay_seconds: Any = 0


class Run:
    """One run of a workflow: its properties, and the outcomes of its nodes."""

    def __init__(
        self,
        defaults: dict[str, str],
        given: dict[str, str] | None = None,
        nominal_time: str | None = None,
    ) -> None:
        self.params = {**defaults, **(given or {})}
        self.steps: list[Step] = []
        self.ways: dict[str, str] = {}
        self.chosen: dict[str, str] = {}
        self.data: dict[str, dict[str, str]] = {}
        self.errors: list[tuple[str, str, str]] = []
        self.found: dict[int, Any] = {}
        self.killed: str | None = None
        self.ended = threading.Event()
        began = flow_run.scheduled_start_time or dt.datetime.now(UTC)
        self.began = dt.datetime.now(UTC)
        self.nominal = el.parse_time(nominal_time) if nominal_time else began

    def __getitem__(self, name: str) -> str:
        """A property; a run that lacks one fails as it would on a server."""
        if name not in self.params:
            raise el.Error(f"the property {name} has no value")
        return self.params[name]

    def step(
        self,
        name: str,
        *,
        after: list[str] | None = None,
        after_failed: list[str] | None = None,
        waits_for: str = "all",
        retries: int = 0,
        retry_delay_seconds: Any = 0,
    ) -> Callable[[Callable[[], Any]], Callable[[], Any]]:
        """Turns a function into a node. A decision returns the node that it leads to."""

        def add(work: Callable[[], Any]) -> Callable[[], Any]:
            step = Step(
                name,
                work,
                after or [],
                after_failed or [],
                waits_for,
                retries,
                retry_delay_seconds,
            )
            self.steps.append(step)
            return work

        return add

    def play(self) -> State:
        """Runs the nodes, each when those before it are done, and returns the state of the flow."""
        futures: dict[str, Any] = {}
        done: set[str] = set()
        changed = threading.Event()
        left = self._in_order()
        while left and not self.ended.is_set():
            changed.clear()
            for step in [step for step in left if self._is_ready(step, done)]:
                left.remove(step)
                before = {*step.after, *step.after_failed} & done
                own = task(
                    self._entered(step),
                    name=step.name,
                    retries=step.retries,
                    retry_delay_seconds=step.retry_delay_seconds,
                    # Actions that are stopped with the run are not retried.
                    retry_condition_fn=lambda *_: not self.ended.is_set(),
                )
                waits = [allow_failure(futures[name]) for name in sorted(before)]
                future = futures[step.name] = own.submit(wait_for=waits)

                def ended(_: Any, name: str = step.name) -> None:
                    done.add(name)
                    changed.set()

                future.add_done_callback(ended)
            changed.wait(PAUSE)
        for future in futures.values():
            future.wait()
        if self.killed is not None:
            return Failed(message=self.killed)
        handled = {name for step in self.steps for name in step.after_failed}
        handled |= {n for s in self.steps if s.waits_for == "done" for n in s.after}
        for name, way in self.ways.items():
            if way == ERROR and name not in handled:
                return Failed(message=f"{name} failed: {self.error_message(name)}")
        return Completed(message="the run got to its end")

    def _is_ready(self, step: Step, done: set[str]) -> bool:
        """Whether all nodes before a node are done, or one that suffices."""
        if done.issuperset([*step.after, *step.after_failed]):
            return True
        if step.waits_for not in ("failure", "either"):
            return False
        failed = [name for name in step.after_failed if name in done]
        passed = [name for name in step.after if name in done]
        return any(self.ways[name] == ERROR for name in failed) or any(
            self._way_of(name, step.name) == OK for name in passed
        )

    def _in_order(self) -> list[Step]:
        """The nodes, each after those that it follows."""
        known: set[str] = set()
        order: list[Step] = []
        left = list(self.steps)
        while left:
            ready = [s for s in left if known.issuperset([*s.after, *s.after_failed])]
            if not ready:
                raise ValueError("the nodes lead back to one another")
            order += ready
            known |= {step.name for step in ready}
            left = [step for step in left if step.name not in known]
        return order

    def _entered(self, step: Step) -> Callable[[], Any]:
        def node() -> Any:
            way = self._way_into(step)
            if way is not None:
                self.ways[step.name] = way
                name = "Skipped" if way == SKIPPED else "Stopped"
                return Completed(name=name, message="no run of the workflow got here")
            # The output of an earlier attempt no longer counts.
            self.errors = [error for error in self.errors if error[0] != step.name]
            try:
                chosen = step.work()
            except ActionFailed as error:
                self.ways[step.name] = ERROR
                self.errors.append((step.name, error.code, str(error)))
                raise
            except Stopped:
                self.ways[step.name] = STOPPED
                raise
            except Exception as error:
                # An expression that cannot be evaluated ends a run on a server, too.
                self.ways[step.name] = ERROR
                if self.killed is None:
                    self._end(f"{step.name}: {error}")
                raise
            if chosen is not None:
                self.chosen[step.name] = chosen
            self.ways[step.name] = OK
            return None

        return node

    def _way_of(self, name: str, to: str) -> str:
        """How a node before another one was left: a decision leads to only one node."""
        chosen = self.chosen.get(name)
        return SKIPPED if chosen not in (None, to) else self.ways.get(name, SKIPPED)

    def _way_into(self, step: Step) -> str | None:
        """None if a run enters the node; else how it is left out."""
        if self.ended.is_set():
            return STOPPED
        before = [self._way_of(name, step.name) for name in step.after]
        failed = [self.ways.get(name, SKIPPED) for name in step.after_failed]
        if not before and not failed:
            return None
        if step.waits_for == "done":
            return next((way for way in before if way in (SKIPPED, STOPPED)), None)
        if step.waits_for == "failure":
            return None if ERROR in failed else SKIPPED
        if step.waits_for == "either":
            return None if OK in before or ERROR in failed else SKIPPED
        if ERROR in before or STOPPED in before:
            return STOPPED
        if step.waits_for == "any":
            return None if OK in before else SKIPPED
        return SKIPPED if SKIPPED in before else None

    def _end(self, message: str) -> None:
        self.killed = message
        self.ended.set()

    def kill(self, message: str) -> None:
        """Ends the run as a kill node does: running actions are stopped, and no more begin."""
        self._end(message)
        raise Stopped(message)

    def command(
        self, words: list[str], *, capture: bool = False, node: str = ""
    ) -> None:
        """Runs a program to its end. Its output goes to the log; the last line is the error message."""
        logger = get_run_logger()
        logger.info("%s", shlex.join(words))
        try:
            program = subprocess.Popen(
                words,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT if not capture else None,
                text=True,
                errors="replace",
                start_new_session=True,
            )
        except OSError as error:
            raise ActionFailed(f"{words[0]}: {error.strerror}") from error
        done = threading.Event()
        guard = threading.Thread(
            target=self._stop_at_end, args=(program, done), daemon=True
        )
        guard.start()
        lines: list[str] = []
        for line in program.stdout or ():
            logger.info("%s", line.rstrip("\n"))
            lines.append(line)
        code = program.wait()
        done.set()
        if self.ended.is_set():
            raise Stopped("the run ended")
        if code != 0:
            last = next((line.strip() for line in reversed(lines) if line.strip()), "")
            raise ActionFailed(
                f"exit code {code}{': ' if last else ''}{last}", str(code)
            )
        if capture:
            self.data[node] = el.properties("".join(lines))

    def _stop_at_end(
        self, program: subprocess.Popen[str], done: threading.Event
    ) -> None:
        while not done.wait(PAUSE):
            if self.ended.is_set():
                os.killpg(program.pid, signal.SIGTERM)
                return

    def email(
        self,
        *,
        to: str,
        subject: str,
        body: str,
        cc: str = "",
        bcc: str = "",
        kind: str = "plain",
        attachments: str = "",
    ) -> None:
        """Sends a mail by the server that `SMTP_HOST` names, from `MAIL_FROM`."""
        mail = EmailMessage()
        mail["From"] = os.environ.get("MAIL_FROM", "oozie@localhost")
        mail["To"], mail["Subject"] = to, subject
        if cc:
            mail["Cc"] = cc
        mail.set_content(body, subtype=kind)
        for name in filter(None, attachments.split(",")):
            data = _hdfs(["-cat", name.strip()], text=False).stdout
            mail.add_attachment(
                data, "application", "octet-stream", filename=Path(name.strip()).name
            )
        everyone = [one.strip() for one in f"{to},{cc},{bcc}".split(",") if one.strip()]
        try:
            with smtplib.SMTP(os.environ.get("SMTP_HOST", "localhost")) as smtp:
                smtp.send_message(mail, to_addrs=everyone)
        except OSError as error:
            raise ActionFailed(
                f"the mail could not be sent: {error}", "EM007"
            ) from error

    def sub_workflow(self, name: str, params: dict[str, str]) -> None:
        """Runs the flow of another file to its end, with these properties."""
        # The path is that of the workflow that starts it.
        params = {k: v for k, v in params.items() if k != "oozie.wf.application.path"}
        state = start(name, params)
        if not state.is_completed():
            # As on a server, the action itself has neither a message nor a code.
            get_run_logger().error("%s failed: %s", name, state.message)
            raise ActionFailed("", "")

    def wait_for(self, data: Data | Logic, minutes: int = -1) -> None:
        """Waits until the instances of the run are complete, for at most `minutes` minutes."""
        until = time.monotonic() + minutes * 60
        while not self.ended.is_set():
            found = data.look(self.nominal, self.began, self.exists)
            if found is not None:
                self.found[id(data)] = found
                return
            if 0 <= minutes and time.monotonic() >= until:
                self._end("TIMEDOUT: the data of the run did not arrive")
                raise Stopped(self.killed or "")
            self.ended.wait(60)
        raise Stopped("the run ended")

    def uris(self, data: Data | Logic, name: str | None = None) -> str:
        """`coord:dataIn` and `coord:dataOut`: the folders, separated by commas; of input logic, those of one of its names."""
        found = self.found.get(id(data))
        if isinstance(data, Logic):
            if name not in (found or {}):
                raise el.Error(f"the data of {name} were not needed")
            return ",".join(found[name])
        return ",".join(data.uris(self.nominal) if found is None else found)

    def route(self, action: str, *, ok: str, error: str) -> str:
        """The node that follows an action: one if it succeeded, another if it failed."""
        return ok if self.ways[action] == OK else error

    def nominal_time(self) -> str:
        """`coord:nominalTime()`."""
        return el.write_time(self.nominal)

    def actual_time(self) -> str:
        """`coord:actualTime()`: when the run began."""
        return el.write_time(self.began)

    def is_due(self, start: str, end: str) -> bool:
        """Whether a coordinator has a run at this time: Prefect's schedules have neither start nor end."""
        return el.parse_time(start) <= self.nominal < el.parse_time(end)

    def job_id(self) -> str:
        """`wf:id()`: unique."""
        return str(flow_run.id or f"local-{self.began:%Y%m%d%H%M%S}")

    def rerun(self) -> int:
        """`wf:run()`."""
        return max((flow_run.run_count or 1) - 1, 0)

    def action_data(self, node: str) -> dict[str, str]:
        """`wf:actionData()`."""
        return self.data.get(node, {})

    def transition(self, node: str, *, ok: str, error: str) -> str | None:
        """`wf:transition()` of an action: the node that followed it; None if it has not ended."""
        return {OK: ok, ERROR: error}.get(self.ways.get(node, SKIPPED))

    def chosen_by(self, node: str, names: dict[str, str] | None = None) -> str | None:
        """`wf:transition()` of a decision: the node that it chose, if its function has a different name."""
        chosen = self.chosen.get(node)
        return (names or {}).get(chosen or "", chosen)

    def last_error_node(self) -> str | None:
        """`wf:lastErrorNode()`."""
        return self.errors[-1][0] if self.errors else None

    def error_code(self, node: str | None) -> str:
        """`wf:errorCode()`: the exit code, if a program failed."""
        return next(
            (code for name, code, _ in reversed(self.errors) if name == node), ""
        )

    def error_message(self, node: str | None) -> str:
        """`wf:errorMessage()`."""
        found = (message for name, _, message in reversed(self.errors) if name == node)
        return next(found, "")

    def secret(self, name: str) -> str:
        """A secret, from the block of this name: letters, digits and `-`."""
        from prefect.blocks.system import Secret

        block = "".join(c if c.isalnum() else "-" for c in name.lower())
        return str(Secret.load(block).get())

    def exists(self, uri: str) -> bool:
        """`fs:exists()`: whether there is a file or folder, or one that matches a pattern."""
        if not uri:
            raise el.Error("a path is empty")
        if any(c in uri for c in "*?{["):
            return _hdfs(["-ls", "-d", uri]).returncode == 0
        return _hdfs(["-test", "-e", uri]).returncode == 0

    def is_dir(self, uri: str) -> bool:
        """`fs:isDir()`."""
        return _hdfs(["-test", "-d", uri]).returncode == 0

    def file_size(self, uri: str) -> int:
        """`fs:fileSize()`."""
        if self.is_dir(uri):
            return 0
        answer = _hdfs(["-stat", "%b", uri])
        return int(answer.stdout) if answer.returncode == 0 else -1

    def dir_size(self, uri: str) -> int:
        """`fs:dirSize()`: the files directly in a folder."""
        if not self.is_dir(uri):
            return -1
        rows = (line.split() for line in _hdfs(["-ls", uri]).stdout.splitlines())
        return sum(int(row[4]) for row in rows if len(row) > 7 and row[0][0] == "-")

    def block_size(self, uri: str) -> int:
        """`fs:blockSize()`."""
        answer = _hdfs(["-stat", "%o", uri])
        return int(answer.stdout) if answer.returncode == 0 else -1


def _hdfs(words: list[str], text: bool = True) -> Any:
    return subprocess.run(
        ["hdfs", "dfs", *words], capture_output=True, text=text, check=False
    )


def start(name: str, params: dict[str, str]) -> State:
    """Runs the flow of another file as part of this run."""
    module = importlib.import_module(name)
    return getattr(module, name)(params=params, return_state=True)
