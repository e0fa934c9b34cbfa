"""Answers vectors of dataset instances with the helper that converted applications have.

    python tests/instances.py FILE         the vectors, a list

The answer is a list in the last line: for each vector the instances, newest first where they are a range, or `refused`, or
null where the helper has no such function. Only Python is needed.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src/carry/python"))

import oozie_el as el
from oozie_data import Data, Dataset, Moment

# Instances as vectors write them; what exists is named by another template.
WRITTEN, EXISTS = "${YEAR}-${MONTH}-${DAY}T${HOUR}:${MINUTE}Z", "/d/${YEAR}/${MONTH}/${DAY}/${HOUR}/${MINUTE}"


def offset(pair):
    """An offset as it is written in a definition."""
    return f"offset({pair[0]}, {pair[1]})"


def data_of(what, given, dataset):
    """The instances that a vector asks for."""
    match what:
        case "current":
            return Data(dataset, instances=[f"current({given['n']})"])
        case "offset":
            return Data(dataset, instances=[offset((given["n"], given["time_unit"]))])
        case "latest":
            return Data(dataset, instances=[f"latest({given['n']})"])
        case "future":
            return Data(dataset, instances=[f"future({given['n']}, {given['limit']})"])
    first, last = given["start"], given["end"]
    match what:
        case "current_range":
            texts = f"current({first})", f"current({last})"
        case "offset_range":
            texts = offset(first), offset(last)
        case "absolute_range":
            texts = f"absolute({first})", f"current({last})"
        case "end_of_range":
            texts = f"{given['function']}({first})", f"current({last})"
        case "latest_range":
            texts = f"latest({first})", f"latest({last})"
        case "future_range":
            texts = (f"future({n}, {given['limit']})" for n in (first, last))
    first, last = texts
    return Data(dataset, first=first, last=last)


def answer(vector):
    """What the helper says of a vector."""
    what, given = vector["what"], vector["inputs"]
    if what == "uri_template":
        dataset = Dataset(given["template"], 1, "DAY", given["instance"], "UTC")
        return dataset.uri(el.parse_time(given["instance"]))
    own = given["dataset"]
    common = own["frequency"], own["unit"], own["initial_instance"], own["timezone"]
    end = own.get("end_of_duration", "NONE").removeprefix("END_OF_")
    end = None if end == "NONE" else end
    flag = own.get("done_flag", "_SUCCESS")
    dataset = Dataset(WRITTEN, *common, end_of=end, done_flag=flag)
    at = el.parse_time(given["nominal_time"])
    moment = Moment(dataset, at)
    match what:
        case "hours_in_day":
            return moment.hours_in_day(given["n"])
        case "days_in_month":
            return moment.days_in_month(given["n"])
        case "tz_offset":
            return moment.tz_offset(given["job_timezone"])
    data = data_of(what, given, dataset)
    if not what.startswith(("latest", "future")):
        return "#".join(data.uris(at))
    places = Dataset(EXISTS, *common, end_of=end)
    there = set(given["existing"])

    def exists(written):
        # The same instance by the name that the vectors have.
        instance, *flag = written.split("/")
        return "/".join([places.uri(el.parse_time(instance)), *flag]) in there

    made = el.parse_time(given["action_actual_time"])
    found = data.look(at, made, exists)
    return None if found is None else "#".join(found)


answers = []
for vector in json.loads(Path(sys.argv[1]).read_text()):
    try:
        answers.append(answer(vector))
    except el.Error as error:
        answers.append(f"refused: {error}")
print(json.dumps(answers))
