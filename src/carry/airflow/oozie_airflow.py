"""What converted DAGs need and Airflow does not have: Oozie's schedule, its data windows, and its kill nodes.

Put this file, `oozie_data.py` and `oozie_el.py` into the plugins folder. It works with Airflow 2.10 and 3.
"""

from __future__ import annotations

import bisect
import datetime as dt
import re
from collections.abc import Callable
from typing import Any, ClassVar
from zoneinfo import ZoneInfo

import jinja2
import pendulum
from airflow.plugins_manager import AirflowPlugin
from airflow.timetables.base import (
    DagRunInfo,
    DataInterval,
    TimeRestriction,
    Timetable,
)

import oozie_el as el
from oozie_data import Data, Dataset, Logic, MissingDataset

try:
    from airflow.providers.standard.operators.trigger_dagrun import (
        TriggerDagRunOperator,
    )
    from airflow.sdk import BaseOperator
    from airflow.sdk.bases.sensor import BaseSensorOperator
    from airflow.sdk.exceptions import (
        AirflowException,
        AirflowFailException,
        AirflowSkipException,
    )
except ImportError:
    from airflow.exceptions import (
        AirflowException,
        AirflowFailException,
        AirflowSkipException,
    )
    from airflow.models.baseoperator import BaseOperator
    from airflow.operators.trigger_dagrun import TriggerDagRunOperator
    from airflow.sensors.base import BaseSensorOperator

__all__ = ["Data", "Dataset", "Logic", "MissingDataset"]
UTC = ZoneInfo("UTC")


def plain(instant: dt.datetime) -> dt.datetime:
    """An instant of Airflow as a plain `datetime`."""
    return dt.datetime.fromtimestamp(instant.timestamp(), UTC)


class OozieTimetable(Timetable):
    """Runs at the nominal times of a coordinator: `start`, and then every `every` units, counted from the start."""

    def __init__(
        self,
        start: str,
        every: int,
        unit: str,
        end: str | None = None,
        timezone: str = "UTC",
        end_of: str | None = None,
    ) -> None:
        self.start, self.every, self.unit = start, every, unit
        self.end, self.timezone, self.end_of = end, timezone, end_of
        self.description = f"every {every} {unit.lower()}s from {start}"
        self._first = el.parse_time(start)
        if end_of:
            moved = el.add_time(self._first, end_of, 1, timezone)
            self._first = el.start_of(moved, end_of, timezone)
        self._end = el.parse_time(end) if end else None

    @property
    def summary(self) -> str:
        return self.description

    def serialize(self) -> dict[str, Any]:
        names = ("start", "every", "unit", "end", "timezone", "end_of")
        return {name: getattr(self, name) for name in names}

    @classmethod
    def deserialize(cls, data: dict[str, Any]) -> OozieTimetable:
        return cls(**data)

    def nominal(self, number: int) -> dt.datetime:
        """The nominal time of a run, counted from 0."""
        return el.add_time(self._first, self.unit, number * self.every, self.timezone)

    def next_after(self, instant: dt.datetime) -> dt.datetime | None:
        """The first nominal time after an instant; None from the end on."""
        instant = plain(instant)
        most = el.most_steps(self._first, instant, self.unit, self.every)
        number = bisect.bisect_right(range(most + 1), instant, key=self.nominal)
        found = self.nominal(number)
        return found if self._end is None or found < self._end else None

    def infer_manual_data_interval(self, *, run_after: Any) -> DataInterval:
        return DataInterval.exact(run_after)

    def next_dagrun_info(
        self, *, last_automated_data_interval: Any, restriction: Any
    ) -> DagRunInfo | None:
        earliest = plain(restriction.earliest) if restriction.earliest else self._first
        after = earliest - dt.timedelta(microseconds=1)
        if not restriction.catchup:
            after = max(after, dt.datetime.now(UTC))
        if last_automated_data_interval is not None:
            after = max(after, plain(last_automated_data_interval.start))
        found = self.next_after(after)
        if found is None or (
            restriction.latest is not None and found > restriction.latest
        ):
            return None
        return DagRunInfo.exact(pendulum.instance(found))


class OoziePlugin(AirflowPlugin):
    """Makes the timetable known to the scheduler."""

    name = "oozie"
    timetables: ClassVar = [OozieTimetable]


def nominal(dag_run: Any) -> dt.datetime:
    """The nominal time of a run; for runs that were started by hand, the time of their start."""
    instant = getattr(dag_run, "logical_date", None) or dag_run.run_after
    return plain(instant)


@jinja2.pass_context
def nominal_time(context: Any) -> str:
    """`coord:nominalTime()`."""
    return el.write_time(nominal(context["dag_run"]))


@jinja2.pass_context
def actual_time(context: Any) -> str:
    """`coord:actualTime()`: when the run began."""
    began = context["dag_run"].start_date or dt.datetime.now(UTC)
    return el.write_time(began)


class DataSensor(BaseSensorOperator):
    """Waits until the instances of a run are complete, and returns their folders."""

    def __init__(
        self,
        *,
        data: Data | Logic,
        webhdfs_conn_id: str = "webhdfs_default",
        metastore_conn_id: str = "metastore_default",
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.data = data
        self.webhdfs_conn_id = webhdfs_conn_id
        self.metastore_conn_id = metastore_conn_id

    def exists(self, uri: str) -> bool:
        """Whether there is a file or a folder, or a partition: `hive://database.table/key=value`."""
        if uri.startswith("hive://"):
            from airflow.providers.apache.hive.hooks.hive import HiveMetastoreHook

            table, _, partition = uri[len("hive://") :].partition("/")
            hook = HiveMetastoreHook(metastore_conn_id=self.metastore_conn_id)
            return hook.check_for_named_partition(*table.split("."), partition)
        from airflow.providers.apache.hdfs.hooks.webhdfs import WebHDFSHook

        hook = WebHDFSHook(webhdfs_conn_id=self.webhdfs_conn_id)
        return hook.check_for_path(hdfs_path=el.path_of(uri))

    def poke(self, context: Any) -> Any:
        """Checks once."""
        run = context["dag_run"]
        made = run.start_date or dt.datetime.now(UTC)
        uris = self.data.look(nominal(run), made, self.exists)
        if uris is None:
            return False
        context["ti"].xcom_push(key="uris", value=uris)
        return True


@jinja2.pass_context
def uris(
    context: Any,
    data: Data | Logic,
    sensor: str | None = None,
    name: str | None = None,
) -> str:
    """`coord:dataIn` and `coord:dataOut`: the folders, separated by commas; of input logic, those of one of its names."""
    if isinstance(data, Logic):
        found = context["ti"].xcom_pull(task_ids=sensor, key="uris")
        if name not in found:
            raise AirflowException(f"the data of {name} were not needed")
        return ",".join(found[name])
    if data.needs_looking:
        return ",".join(context["ti"].xcom_pull(task_ids=sensor, key="uris"))
    return ",".join(data.uris(nominal(context["dag_run"])))


class SubWorkflow(TriggerDagRunOperator):
    """Starts a run of a sub-workflow that takes all properties of this run except the path; its own take precedence."""

    def execute(self, context: Any) -> Any:
        passed = dict(context["params"])
        passed.pop("oozie.wf.application.path", None)
        self.conf = {**passed, **(self.conf or {})}
        return super().execute(context)


class AfterCoordinator(BaseOperator):
    """Runs after the tasks of another coordinator in the same DAG, and fails if they did not do their work.

    If one of them marks the output as done, that one must succeed; otherwise none of the last tasks may fail.
    """

    def __init__(self, *, marked_by: str | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.marked_by = marked_by

    def execute(self, context: Any) -> None:
        found = states(context, sorted(self.upstream_task_ids))
        if self.marked_by:
            done = found[self.marked_by] == "success"
        else:
            done = not {"failed", "upstream_failed"} & set(found.values())
        if not done:
            raise AirflowFailException("what this coordinator reads was not written")


def kill(message: str) -> None:
    """Ends the run as a kill node does."""
    raise AirflowFailException(message)


def choose(cases: list[tuple[str, str]], default: str, **context: Any) -> str:
    """The task that a decision leads to: that of the first true case."""
    chosen = next((target for case, target in cases if el.is_true(case)), default)
    # Airflow 3 does not keep the result of a task that skips others.
    context["ti"].xcom_push(key="chosen", value=chosen)
    return chosen


def states(context: Any, task_ids: list[str]) -> dict[str, str | None]:
    """The states of tasks of the same run."""
    ti, run = context["ti"], context["dag_run"]
    if hasattr(ti, "get_task_states"):
        found = ti.get_task_states(
            dag_id=ti.dag_id, task_ids=task_ids, run_ids=[run.run_id]
        )
        states = found.get(run.run_id, {})
        return {task_id: states.get(task_id) for task_id in task_ids}
    instances = {instance.task_id: instance for instance in run.get_task_instances()}
    return {task_id: str(instances[task_id].state) for task_id in task_ids}


UNHANDLED = {
    "AfterCoordinator",
    "BranchPythonOperator",
    "DataSensor",
    "ExternalTaskSensor",
    "ShortCircuitOperator",
}


def is_unhandled(task: Any) -> bool:
    """Whether nothing follows a task that fails: it waits for data, or it is a decision."""
    names = {kind.__name__ for kind in type(task).__mro__}
    return bool(names & UNHANDLED)


def all_before(context: Any) -> list[str]:
    """All tasks upstream of this one, except those of other coordinators in the same DAG."""
    tasks, own = context["dag"].task_dict, group_of(context["task"])
    before = context["task"].get_flat_relative_ids(upstream=True)
    return sorted(task for task in before if group_of(tasks[task]) == own)


def group_of(task: Any) -> str | None:
    """The group of a task: its coordinator, if a DAG has several."""
    return task.task_group.group_id if task.task_group else None


def begin(context: Any) -> None:
    """Records that a task began. If its expressions fail, it never begins, and no error transition is taken."""
    context["ti"].xcom_push(key="began", value="yes")


def never_began(context: Any, task_ids: list[str]) -> bool:
    """Whether the expressions of one of these failed tasks could not be evaluated: it did not record that it began."""
    tasks, ti = context["dag"].task_dict, context["ti"]
    noting = [
        task for task in task_ids if getattr(tasks[task], "_pre_execute_hook", None)
    ]
    return any(ti.xcom_pull(task_ids=task, key="began") is None for task in noting)


def is_broken(context: Any) -> bool:
    """Whether the run ended before a task: its data did not arrive, or an expression failed."""
    tasks = context["dag"].task_dict
    before = all_before(context)
    found = states(context, before) if before else {}
    failed = [task for task in before if found[task] == "failed"]
    return any(is_unhandled(tasks[task]) for task in failed) or never_began(
        context, failed
    )


def not_entered(context: Any, reason: str) -> Exception:
    """The exception of a task that was not reached: a skip, unless the run ended before it. A run of skipped tasks succeeds."""
    if is_broken(context):
        return AirflowFailException("the run ended before this task")
    return AirflowSkipException(reason)


def has_ended(context: Any) -> bool:
    """Whether an action upstream failed whose failure leads only to a kill node: no routing task follows it."""
    tasks = context["dag"].task_dict
    before = all_before(context)
    found = states(context, before) if before else {}

    def is_handled(task: str) -> bool:
        return f"{task}_route" in tasks[task].downstream_task_ids

    return any(found[task] == "failed" and not is_handled(task) for task in before)


def route(action: str, ok: str, error: str, **context: Any) -> str:
    """The task that follows an action: one if it succeeded, another if it failed."""
    state = states(context, [action])[action]
    if state == "success":
        return ok
    if state == "failed" and not never_began(context, [action]):
        return error
    if has_ended(context):
        raise AirflowFailException("the run ended before this task")
    raise not_entered(context, f"{action} did not run")


def only_if_failed(context: Any) -> None:
    """Lets a handler run only if an action directly before it failed, not one further upstream."""
    before = list(context["task"].upstream_task_ids)
    failed = "failed" in states(context, before).values()
    if not failed or is_broken(context):
        raise not_entered(context, "none of the actions before failed itself")
    begin(context)


def is_on_time(minutes: int = 1, **context: Any) -> bool:
    """`NONE`: whether a run begins at most this long after its nominal time."""
    return dt.datetime.now(UTC) <= nominal(context["dag_run"]) + dt.timedelta(
        minutes=minutes
    )


def is_latest(schedule: Timetable, **context: Any) -> bool:
    """`LAST_ONLY`: whether the next run is not yet due."""
    instant = nominal(context["dag_run"])
    if isinstance(schedule, OozieTimetable):
        following = schedule.next_after(instant)
    else:
        info = schedule.next_dagrun_info(
            last_automated_data_interval=DataInterval.exact(pendulum.instance(instant)),
            restriction=TimeRestriction(None, context["dag"].end_date, catchup=True),
        )
        following = plain(info.run_after) if info else None
    return following is None or dt.datetime.now(UTC) <= following


def job_id(dag_run: Any, group: str | None = None) -> str:
    """`wf:id()`: unique, and usable as a file name, unlike Airflow's own ids."""
    owner = f"{dag_run.dag_id}-{group}" if group else dag_run.dag_id
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", f"{owner}-{dag_run.run_id}")


@jinja2.pass_context
def last_error_node(context: Any) -> str | None:
    """`wf:lastErrorNode()`: of all actions upstream of this task, the one that failed last."""
    before = all_before(context)
    states_before = states(context, before) if before else {}
    failed = [task for task in before if states_before[task] == "failed"]
    tasks = context["dag"].task_dict
    earlier = {
        task
        for other in failed
        for task in tasks[other].get_flat_relative_ids(upstream=True)
    }
    found = next((task for task in failed if task not in earlier), None)
    # The group of a coordinator precedes the name of the node.
    return found.rpartition(".")[2] if found else None


@jinja2.pass_context
def transition(context: Any, node: str, *, ok: str, error: str) -> str | None:
    """`wf:transition()` of an action: the node that followed it; None if it has not ended."""
    state = states(context, [node])[node]
    return {"success": ok, "failed": error}.get(state or "")


@jinja2.pass_context
def chosen_by(
    context: Any, node: str, names: dict[str, str] | None = None
) -> str | None:
    """`wf:transition()` of a decision: the node that it chose, if its task has a different name."""
    task = context["ti"].xcom_pull(task_ids=node, key="chosen")
    return (names or {}).get(task, task)


@jinja2.pass_context
def error_message(context: Any, node: str | None) -> str:
    """`wf:errorMessage()`: Airflow keeps the message in the log of the task."""
    return f"see the log of {node} in run {context['run_id']}" if node else ""


@jinja2.pass_context
def action_data(context: Any, node: str) -> dict[str, str]:
    """`wf:actionData()`: the captured output of a program."""
    return captured(context["ti"].xcom_pull(task_ids=node))


def captured(result: Any) -> dict[str, str]:
    """The properties in the result of a task that printed its output again as one line of base64."""
    import base64

    return el.properties(base64.b64decode(result or "").decode())


def cluster(context: Any) -> Any:
    """The client of the file system that a DAG names, or of the default one."""
    from airflow.providers.apache.hdfs.hooks.webhdfs import WebHDFSHook

    name = context.get("webhdfs_conn_id") or "webhdfs_default"
    return WebHDFSHook(webhdfs_conn_id=name).get_conn()


@jinja2.pass_context
def file_status(context: Any, uri: str) -> dict[str, Any]:
    """The status of a file; None if it is missing."""
    return cluster(context).status(el.path_of(uri), strict=False) or {}


@jinja2.pass_context
def exists(context: Any, uri: str) -> bool:
    """`fs:exists()`: whether there is a file or folder, or one that matches a pattern."""
    if not uri:
        raise AirflowException("a path is empty")
    if not re.search(r"[*?{\[]", uri):
        return bool(file_status(context, uri))
    files, found = cluster(context), [""]
    for part in el.path_of(uri).strip("/").split("/"):
        if not re.search(r"[*?{\[]", part):
            found = [f"{folder}/{part}" for folder in found]
            continue
        fits = re.compile(_pattern(part))
        folders = [one for one in found if _kind(files, one) == "DIRECTORY"]
        found = [
            f"{folder}/{name}"
            for folder in folders
            for name, _ in files.list(folder or "/", status=True)
            if fits.fullmatch(name)
        ]
    return any(_kind(files, path) for path in found)


def _kind(files: Any, path: str) -> str:
    return (files.status(path or "/", strict=False) or {}).get("type", "")


def _pattern(part: str) -> str:
    """A pattern of Hadoop for one part of a path, as a regular expression."""
    out, at, open_braces = "", 0, 0
    while at < len(part):
        c = part[at]
        if c == "[":
            end = part.find("]", at + 1)
            if end < 0:
                raise AirflowException(f"{part!r} has a `[` without its `]`")
            out += part[at : end + 1].replace("\\", "\\\\")
            at = end
        elif c in "*?{" or (c in ",}" and open_braces):
            out += {"*": ".*", "?": ".", "{": "(?:", ",": "|", "}": ")"}[c]
            open_braces += {"{": 1, "}": -1}.get(c, 0)
        elif c == "\\" and at + 1 < len(part):
            at += 1
            out += re.escape(part[at])
        else:
            out += re.escape(c)
        at += 1
    if open_braces:
        raise AirflowException(f"{part!r} has a `{{` without its `}}`")
    return out


@jinja2.pass_context
def is_dir(context: Any, uri: str) -> bool:
    """`fs:isDir()`."""
    return file_status(context, uri).get("type") == "DIRECTORY"


@jinja2.pass_context
def file_size(context: Any, uri: str) -> int:
    """`fs:fileSize()`."""
    return file_status(context, uri).get("length", -1)


@jinja2.pass_context
def dir_size(context: Any, uri: str) -> int:
    """`fs:dirSize()`: the files directly in a folder."""
    if not is_dir(context, uri):
        return -1
    listed = cluster(context).list(el.path_of(uri), status=True)
    return sum(status["length"] for _, status in listed if status["type"] == "FILE")


@jinja2.pass_context
def block_size(context: Any, uri: str) -> int:
    """`fs:blockSize()`."""
    return file_status(context, uri).get("blockSize", -1)


@jinja2.pass_context
def error_code(context: Any, node: str | None) -> str:
    """`wf:errorCode()`: Airflow has none."""
    return "FAILED" if node else ""


def go_on() -> None:
    """Does nothing; other tasks depend on it."""


def entered(
    ok: list[str] | None = None, error: list[str] | None = None
) -> Callable[[Any], None]:
    """Lets a task run if one of some tasks succeeded, or one of others failed itself."""
    ok, error = ok or [], error or []

    def check(context: Any) -> None:
        found = states(context, [*ok, *error])
        is_left = any(found[task] == "success" for task in ok) or any(
            found[task] == "failed" for task in error
        )
        if not is_left or is_broken(context):
            raise not_entered(context, "no run got here")
        begin(context)

    return check
