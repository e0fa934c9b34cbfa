"""Asks the models of Databricks whether jobs are valid, and plays them by the documented rules.

    databricks_check.py FOLDER           reads FOLDER/databricks.yml and FOLDER/resources
    databricks_check.py --play FILE      plays the scenarios of a file

Needs the packages databricks-bundles, databricks-sdk and pyyaml. Prints JSON.
"""

import functools
import json
import pathlib
import re
import sys

import yaml
from databricks.bundles.core import Resources
from databricks.bundles.jobs import Job
from databricks.sdk.service import jobs as api

REFERENCE = re.compile(r"\{\{([^}]*)\}\}")
OWN = {"job.run_id", "job.repair_count"}
OWN |= {f"job.{time}.{form}" for time in ("trigger.time", "start_time") for form in ("iso_date", "iso_datetime")}


@functools.cache
def read(path: str) -> dict:
    return yaml.load(pathlib.Path(path).read_text(), getattr(yaml, "CSafeLoader", yaml.SafeLoader))


def texts(value):
    if isinstance(value, dict):
        for inner in value.values():
            yield from texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from texts(inner)
    elif isinstance(value, str):
        yield value


def dropped(given, taken, where: str):
    """What a model does not know of what it was given."""
    if isinstance(given, dict) and isinstance(taken, dict):
        for key, value in given.items():
            if key not in taken:
                if value not in ({}, [], ""):
                    yield f"{where}.{key} is not known"
                continue
            yield from dropped(value, taken[key], f"{where}.{key}")
    elif isinstance(given, list) and isinstance(taken, list):
        for at, (one, other) in enumerate(zip(given, taken, strict=True)):
            yield from dropped(one, other, f"{where}[{at}]")


def above(tasks: dict[str, dict]) -> dict[str, set[str]]:
    """All that lie before each task; fails where tasks wait for one another."""
    found: dict[str, set[str]] = {}

    def of(key: str, path: tuple[str, ...]) -> set[str]:
        assert key not in path, f"{key} waits for itself"
        if key not in found:
            deps = [one["task_key"] for one in tasks[key].get("depends_on", [])]
            found[key] = set(deps).union(*(of(one, (*path, key)) for one in deps))
        return found[key]

    for key in tasks:
        of(key, ())
    return found


def errors_of(job: dict, names: set[str], variables: set[str]):
    tasks = {task["task_key"]: task for task in job["tasks"]}
    if len(tasks) < len(job["tasks"]):
        yield "two tasks have one key"
    if len(tasks) > 1000:
        yield "there are more than 1000 tasks"
    declared = {one["name"] for one in job.get("parameters", [])}
    for task in tasks.values():
        if not re.fullmatch(r"\w{1,100}", task["task_key"]):
            yield f"{task['task_key']} is no key"
        for one in task.get("depends_on", []):
            other = tasks.get(one["task_key"])
            if other is None:
                yield f"{one['task_key']} is not there"
            elif ("condition_task" in other) != ("outcome" in one):
                if "outcome" in one or task.get("run_if") not in ("ALL_DONE",):
                    yield f"{task['task_key']} needs an outcome of what has none"
    before = above(tasks)
    for key, task in tasks.items():
        for text in texts(task):
            for name in REFERENCE.findall(text):
                parts = name.split(".")
                is_known = name in OWN or (
                    parts[:2] == ["job", "parameters"] and parts[2] in declared and len(parts) == 3
                )
                if parts[0] == "tasks":
                    is_known = parts[1] in before[key]
                if not is_known:
                    yield f"{key} names {name}"
            for name in re.findall(r"\$\{([a-z]\w*)\.([^}]*)\}", text):
                kind, rest = name
                if kind == "var" and rest not in variables:
                    yield f"{key} names the variable {rest}"
                if kind == "resources" and rest.split(".")[1] not in names:
                    yield f"{key} starts the job {rest}"


def deployed(value):
    """A job with the numbers that references of a bundle stand for."""
    if isinstance(value, list):
        return [deployed(inner) for inner in value]
    if not isinstance(value, dict):
        return value
    is_number = {"job_id", "num_workers"}
    return {key: 1 if key in is_number else deployed(inner) for key, inner in value.items()}


def check(folder: pathlib.Path) -> dict:
    bundle = read(str(folder / "databricks.yml"))
    files = {path: read(str(path)) for path in sorted((folder / "resources").glob("*.yml"))}
    variables, names = set(bundle["variables"]), set()
    for file in files.values():
        for key in file["resources"]["jobs"]:
            assert key not in names, key
            names.add(key)
        variables |= set(file.get("variables", {}))
    wrong = {}
    resources = Resources()
    for path, file in files.items():
        for key, job in file["resources"]["jobs"].items():
            said = []
            try:
                said += errors_of(job, names, variables)
                job = deployed(job)
                resources.add_job(key, Job.from_dict(job))
                said += dropped(job, Job.from_dict(job).as_dict(), key)
                said += dropped(job, api.JobSettings.from_dict(job).as_dict(), key)
            except Exception as error:  # noqa: BLE001
                said.append(f"{type(error).__name__}: {error}")
            if said:
                wrong[str(path)] = said[:5]
    for path in sorted((folder / "src").glob("*.py")):
        compile(path.read_text(), str(path), "exec")
    return {"jobs": len(files), "errors": wrong}


def runs(rule: str, states: list[str], excluded_succeed: bool) -> str:
    """What becomes of a task: `run`, `excluded` or `upstream_failed`."""
    if all(state == "excluded" for state in states) and states:
        return "excluded"
    failed = [state in ("failed", "upstream_failed") for state in states]
    good = [state == "success" or (excluded_succeed and state == "excluded") for state in states]
    match rule:
        case "ALL_SUCCESS":
            fits = all(good) if excluded_succeed else all(state == "success" for state in states)
            if not fits and not any(failed):
                return "excluded"
            return "run" if fits else "upstream_failed"
        case "AT_LEAST_ONE_SUCCESS":
            return "run" if any(good) else "upstream_failed"
        case "NONE_FAILED":
            return "run" if not any(failed) and "success" in states else "upstream_failed"
        case "ALL_DONE":
            return "run"
        case "AT_LEAST_ONE_FAILED":
            return "run" if any(failed) else "excluded"
    raise ValueError(rule)


def play(job: dict, scenario: dict, excluded_succeed: bool) -> tuple[str, list[str]]:
    """How a run ends, and the actions that ran."""
    tasks = {task["task_key"]: task for task in job["tasks"]}
    before = above(tasks)
    states: dict[str, str] = {}
    outcomes: dict[str, str] = {}
    ran = []
    for key in sorted(tasks, key=lambda key: len(before[key])):
        task = tasks[key]
        deps = []
        for one in task.get("depends_on", []):
            state = states[one["task_key"]]
            wanted = one.get("outcome")
            is_other = wanted and state == "success" and outcomes[one["task_key"]] != wanted
            deps.append("excluded" if is_other else state)
        left = runs(task.get("run_if", "ALL_SUCCESS"), deps, excluded_succeed)
        if left != "run":
            states[key] = left
            continue
        if "condition_task" in task:
            states[key] = "success"
            outcomes[key] = decided(key, task["condition_task"], scenario, states)
            continue
        is_failing = task.get("spark_python_task", {}).get("python_file") == "../src/fail.py"
        if key in scenario["actions"]:
            ran.append(key)
            states[key] = "failed" if key in scenario["fails"] else "success"
        else:
            states[key] = "failed" if is_failing else "success"
    inner = {one["task_key"] for task in tasks.values() for one in task.get("depends_on", [])}
    leaves = [states[key] for key in tasks if key not in inner]
    bad = any(state in ("failed", "upstream_failed") for state in leaves)
    return ("Failed" if bad else "Succeeded"), sorted(ran)


def decided(key: str, condition: dict, scenario: dict, states: dict[str, str]) -> str:
    """The outcome of a condition: of a state as it is, of a case as the scenario has it."""
    for name, case in scenario["cases"].items():
        number = None
        if match := re.fullmatch(re.escape(name) + r"(?:_(\d+))?(?:_(?:and|or)_\d+)?", key):
            number = int(match[1] or 1)
        if number is not None and case["of"] > 0 and number <= case["of"]:
            return "true" if number == case["number"] else "false"
    left = re.sub(r"\{\{tasks\.(\w+)\.result_state\}\}", lambda found: states[found[1]], condition["left"])
    assert "{{" not in left, left
    is_equal = left == condition["right"]
    return "true" if is_equal == (condition["op"] == "EQUAL_TO") else "false"


def as_keys(scenario: dict) -> dict:
    """A scenario with the keys of tasks in place of the names of nodes."""
    said = {name: [one.replace("-", "_") for one in scenario[name]] for name in ("actions", "fails", "ran")}
    cases = {name.replace("-", "_"): case for name, case in scenario["cases"].items()}
    return {**scenario, **said, "cases": cases}


def is_playable(job: dict, scenario: dict) -> bool:
    """Whether names are those of the nodes, and every decision is one of Databricks."""
    keys = {task["task_key"] for task in job["tasks"]}
    names = [*scenario["actions"], *scenario["cases"]]
    if len({name.lower() for name in names}) < len(names):
        return False
    for task in job["tasks"]:
        if task["task_key"] in scenario["cases"] and "condition_task" not in task:
            return False
    return all(one in keys for one in scenario["ran"])


def play_all(path: str) -> dict:
    wrong, count, skipped, differ = [], 0, 0, 0
    for scenario in json.loads(pathlib.Path(path).read_text()):
        (job,) = read(scenario["file"])["resources"]["jobs"].values()
        scenario = as_keys(scenario)
        if not is_playable(job, scenario):
            skipped += 1
            continue
        count += 1
        found = [play(job, scenario, reading) for reading in (True, False)]
        wanted = (scenario["phase"], sorted(scenario["ran"]))
        if wanted[0] == "Failed":
            # What goes beside a failure goes on, so that more may run.
            fits = [end == "Failed" and set(wanted[1]) <= set(all_ran) for end, all_ran in found]
        else:
            fits = [one == wanted for one in found]
        if not all(fits):
            wrong.append({"file": scenario["file"], "wanted": wanted, "found": found, **scenario})
        differ += found[0] != found[1]
    return {"count": count, "wrong": len(wrong), "skipped": skipped, "readings": differ, "first": wrong[:3]}


def main() -> None:
    if sys.argv[1] == "--play":
        answer = play_all(sys.argv[2])
    else:
        answer = check(pathlib.Path(sys.argv[1]))
    print(json.dumps(answer))


main()
