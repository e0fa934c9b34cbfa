"""Plays scenarios with converted DAGs in a real Airflow, with the operators stubbed.

    python replay.py OUT SCENARIOS ANSWERS

`OUT` is what `ankus convert -o OUT` wrote. `SCENARIOS` is a list of objects of JSON: `dag`, `conf` (of the run), `nominal`,
`files` (what WebHDFS finds), `tasks` (what each answers: `ok`, with its output, or `error`). `ANSWERS` gets one object
each: the state of the run, the tasks in the order in which they began with their states, and the messages of kill nodes.
Nothing outside a temporary folder is written, and no operator does anything.
"""

from __future__ import annotations

import base64
import copy
import datetime as dt
import inspect
import json
import logging
import os
import re
import sys
import tempfile
import time
import types
from pathlib import Path
from typing import Any, ClassVar

OUT = Path(sys.argv[1]).resolve()
SETTINGS = {
    "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
    "AIRFLOW__CORE__PLUGINS_FOLDER": str(OUT / "plugins"),
    "AIRFLOW__CORE__DAGS_FOLDER": str(OUT / "dags"),
    "AIRFLOW__CORE__DAGBAG_IMPORT_TIMEOUT": "600",
    "AIRFLOW__CORE__UNIT_TEST_MODE": "False",
    "AIRFLOW__LOGGING__LOGGING_LEVEL": "CRITICAL",
    "AIRFLOW__LOGGING__FAB_LOGGING_LEVEL": "CRITICAL",
    "AIRFLOW__USAGE_DATA_COLLECTION__ENABLED": "False",
}


class Scene:
    """What is played at the moment."""

    tasks: ClassVar[dict[str, dict[str, Any]]] = {}
    files: ClassVar[dict[str, int]] = {}
    order: ClassVar[list[str]] = []
    messages: ClassVar[list[str]] = []
    found: ClassVar[dict[str, list[str]]] = {}
    errors: ClassVar[dict[str, str]] = {}
    notified: ClassVar[list[str]] = []
    watched: ClassVar[list[type]] = []
    broken: ClassVar[dict[str, str]] = {}
    now: ClassVar[dt.datetime | None] = None
    params: ClassVar[dict[str, Any]] = {}
    idle = 0


class Clock(dt.datetime):
    """A clock that stands still at the nominal time of a scenario: a server plays it at that time, too."""

    @classmethod
    def now(cls, tz: Any = None) -> dt.datetime:
        return Scene.now or dt.datetime.now(tz)


def watch(kind: Any) -> None:
    """Keeps what goes wrong where the fields of an operator are rendered."""
    render = kind.render_template_fields

    def rendered(operator: Any, *given: Any, **named: Any) -> Any:
        try:
            return render(operator, *given, **named)
        except Exception as error:
            Scene.errors[operator.task_id] = f"{type(error).__name__}: {error}"[:300]
            raise

    kind.render_template_fields = rendered


def answered(operator: Any, context: Any) -> Any:
    """What a scenario says that a task comes to."""
    from airflow.exceptions import AirflowFailException

    told = Scene.tasks.get(operator.task_id, {})
    if told.get("result", "ok") == "ok":
        return base64.b64encode(told.get("output", "").encode()).decode()
    raise AirflowFailException(told.get("message", "as the scenario says"))


class Cluster:
    """WebHDFS, with the files of a scenario."""

    def __init__(self, webhdfs_conn_id: str = "") -> None:
        pass

    def get_conn(self) -> Cluster:
        return self

    def check_for_path(self, hdfs_path: str) -> bool:
        return self.status(hdfs_path) is not None

    def status(self, path: str, strict: bool = True) -> dict[str, Any] | None:
        path = path.rstrip("/") or "/"
        if path in Scene.files:
            return {"type": "FILE", "length": Scene.files[path], "blockSize": 1 << 27}
        prefix = path.rstrip("/") + "/"
        if any(file.startswith(prefix) for file in Scene.files):
            return {"type": "DIRECTORY", "length": 0, "blockSize": 0}
        return None

    def list(self, path: str, status: bool = False) -> list[tuple[str, Any]]:
        prefix = path.rstrip("/") + "/"
        below = [file for file in Scene.files if file.startswith(prefix)]
        names = sorted({file[len(prefix) :].split("/")[0] for file in below})
        return [(name, self.status(prefix + name)) for name in names]


class Metastore:
    """A metastore that knows the partitions whose folders a scenario has."""

    def __init__(self, metastore_conn_id: str = "") -> None:
        pass

    def check_for_named_partition(self, schema: str, table: str, name: str) -> bool:
        return any(f"/{name}/" in file for file in Scene.files)


def stub() -> None:
    """Puts stubs in the place of what reaches the outside."""
    try:
        from airflow.providers.apache.hive.hooks import hive
    except ImportError:
        hive = types.ModuleType("airflow.providers.apache.hive.hooks.hive")
        sys.modules[hive.__name__] = hive
    hive.HiveMetastoreHook = Metastore
    name = "airflow.providers.apache.hdfs.hooks.webhdfs"
    module = types.ModuleType(name)
    module.WebHDFSHook = Cluster
    sys.modules[name] = module
    import oozie_airflow as oozie

    oozie.dt = types.SimpleNamespace(datetime=Clock, timedelta=dt.timedelta)
    kill, look = oozie.kill, oozie.DataSensor.poke

    def killed(message: str) -> None:
        Scene.messages.append(message)
        kill(message)

    def looked(sensor: Any, context: Any) -> Any:
        from airflow.exceptions import AirflowFailException

        if not sensor.data.needs_looking:
            uris = sensor.data.uris(oozie.nominal(context["dag_run"]))
            Scene.found[sensor.task_id] = uris
        if not look(sensor, context):
            raise AirflowFailException("the data do not come")
        found = context["ti"].xcom_pull(task_ids=sensor.task_id, key="uris")
        if isinstance(found, list):
            Scene.found[sensor.task_id] = found

    def pause(seconds: float) -> None:
        # Airflow waits here for nobody: there are no other workers.
        Scene.idle += 1
        if Scene.idle > 100:
            raise TimeoutError("no task can run")

    def notify(notice: Any, context: Any) -> None:
        Scene.notified.append(context["task"].task_id)

    try:
        from airflow.providers.smtp.notifications.smtp import SmtpNotifier
    except ImportError:
        pass
    else:
        SmtpNotifier.notify = notify

    time.sleep = pause
    oozie.kill = killed
    oozie.DataSensor.execute = looked
    kept = (
        "AfterCoordinator",
        "PythonOperator",
        "BranchPythonOperator",
        "ShortCircuitOperator",
    )

    def patch(operator: Any) -> None:
        kind = type(operator)
        began = operator.pre_execute

        def begin(context: Any) -> Any:
            result = began(context)
            Scene.order.append(operator.task_id)
            return result

        operator.pre_execute = begin
        if kind.__name__ not in (*kept, "EmptyOperator", "DataSensor"):
            kind.execute = answered
        for base in kind.__mro__:
            if "render_template_fields" in vars(base) and base not in Scene.watched:
                Scene.watched.append(base)
                watch(base)

    Scene.patch = patch


def loaded() -> dict[str, Any]:
    """Every DAG, known to the database."""
    try:
        from airflow.dag_processing import dagbag as place
    except ImportError:
        from airflow.models.dagbag import DagBag

        try:
            # A table of it is asked for where a task fails.
            import airflow.providers.fab.auth_manager.models  # noqa: F401
        except ImportError:
            pass
        bag = DagBag(str(OUT / "dags"), include_examples=False)
        return check(bag)
    from airflow.dag_processing.bundles.manager import DagBundlesManager

    manager = DagBundlesManager()
    manager.sync_bundles_to_db()
    bundle = next(iter(manager.get_all_dag_bundles()))
    bundle.initialize()
    bag = place.BundleDagBag(
        dag_folder=bundle.path, bundle_path=bundle.path, bundle_name=bundle.name
    )
    place.sync_bag_to_db(bag, bundle.name, bundle.version)
    # `dag.test` reads the folder again for every run.
    place.BundleDagBag = lambda **_: None
    place.sync_bag_to_db = lambda *_: None
    return check(bag)


def check(bag: Any) -> dict[str, Any]:
    """The DAGs of a bag, with their stubs; those that cannot be imported are kept with the errors."""
    for path, error in bag.import_errors.items():
        last = str(error).strip().splitlines() or [""]
        Scene.broken[Path(path).stem] = last[-1][:400]
    for dag in bag.dags.values():
        for task in dag.task_dict.values():
            Scene.patch(task)
    return bag.dags


def played(
    dags: dict[str, Any], scenario: dict[str, Any], number: int
) -> dict[str, Any]:
    """One scenario."""
    dag = dags.get(scenario["dag"])
    if dag is None:
        return {
            "refused": Scene.broken.get(scenario["dag"], "there is no such DAG in its file")
        }
    Scene.tasks = scenario["tasks"]
    Scene.files = scenario.get("files", {})
    Scene.order, Scene.messages, Scene.found, Scene.idle = [], [], {}, 0
    Scene.errors, Scene.notified = {}, []
    at = dt.datetime(2024, 1, 1, tzinfo=dt.UTC) + dt.timedelta(days=number)
    if scenario.get("nominal"):
        at = dt.datetime.fromisoformat(scenario["nominal"])
    Scene.now = at if at.tzinfo else at.replace(tzinfo=dt.UTC)
    # Parameters that the DAG does not know come with the run.
    # What a run before was given stays in those of the DAG, which is read once here.
    kept = Scene.params.setdefault(dag.dag_id, copy.deepcopy(dag.params))
    dag.params = copy.deepcopy(kept)
    for task in dag.task_dict.values():
        task.params = copy.deepcopy(dag.params)
    known = dag.params
    conf = {
        name: value for name, value in scenario["conf"].items() if name not in known
    }
    conf.update(scenario.get("changes", {}))
    newer = "logical_date" in inspect.signature(dag.test).parameters
    name = "logical_date" if newer else "execution_date"
    try:
        run = dag.test(**{name: at}, run_conf=conf)
    except Exception as error:  # noqa: BLE001 Whatever it is, the other scenarios go on.
        return {"error": f"{type(error).__name__}: {error}"[:400]}
    states = {ti.task_id: str(ti.state or "none") for ti in run.get_task_instances()}
    return {
        "state": str(run.state),
        "states": {
            task: state.split(".")[-1].lower() for task, state in states.items()
        },
        "order": Scene.order,
        "messages": Scene.messages,
        "found": Scene.found,
        "errors": Scene.errors,
        "notified": Scene.notified,
    }


def secrets() -> set[str]:
    """Variables that DAGs read: secrets that stand in a definition are known to no scenario."""
    texts = (path.read_text() for path in (OUT / "dags").glob("*.py"))
    return {name for text in texts for name in re.findall(r"var\.value\.(\w+)", text)}


def main() -> None:
    """Plays all of them."""
    scenarios = json.loads(Path(sys.argv[2]).read_text())
    answer = Path(sys.argv[3])
    with tempfile.TemporaryDirectory(prefix="replay-") as home:
        os.environ.update(SETTINGS, AIRFLOW_HOME=home)
        for secret in secrets():
            os.environ[f"AIRFLOW_VAR_{secret.upper()}"] = "a secret"
        for scenario in scenarios:
            for secret, value in scenario.get("variables", {}).items():
                os.environ[f"AIRFLOW_VAR_{secret.upper()}"] = value
        sys.path.insert(0, str(OUT / "plugins"))
        logging.disable(logging.CRITICAL)
        # What Airflow says of every task is of no use here.
        quiet = os.open(os.devnull, os.O_WRONLY)
        if not os.environ.get("REPLAY_LOUD"):
            os.dup2(quiet, 1)
        # As a process of its own it would import all of Airflow a second time.
        from airflow.__main__ import main as airflow

        sys.argv[:] = ["airflow", "db", "migrate"]
        airflow()
        stub()
        dags = loaded()
        answers = [played(dags, one, at) for at, one in enumerate(scenarios)]
        answer.write_text(json.dumps(answers))


main()
