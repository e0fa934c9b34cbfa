"""Judges input logic with the helper that converted applications have.

    python tests/input_logic.py FILE         a list of {"logic", "data", "waited"}

`logic` is a tree of {"kind", "parts", "event", "name", "least", "wait"}, `data` has the folders of each input, with null in the
place of one that is not there. The answer is a list in the last line: the folders by their names, or null. Only Python is needed.
"""

from __future__ import annotations

import datetime as dt
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src/carry/python"))

from oozie_data import UTC, Logic


class Places:
    """An input with what of it is there."""

    def __init__(self, places):
        self.every = places

    def places(self, *_):
        return self.every


def logic_of(tree, data):
    """The logic of a tree."""
    return Logic(
        tree["kind"],
        *[logic_of(part, data) for part in tree.get("parts", [])],
        data=Places(data[tree["event"]]) if tree.get("event") else None,
        event=tree.get("event"),
        name=tree.get("name"),
        least=tree.get("least"),
        wait=tree.get("wait"),
    )


def judged(case):
    """What is enough in one case."""
    made = dt.datetime.now(UTC) - dt.timedelta(minutes=case["waited"], seconds=5)
    return logic_of(case["logic"], case["data"]).look(made, made, lambda _: False)


cases = json.loads(Path(sys.argv[1]).read_text())
print(json.dumps([judged(case) for case in cases]))
