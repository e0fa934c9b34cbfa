"""The data of a coordinator: series of folders, which of their instances a run reads or writes, and which suffice.

It needs `oozie_el.py` next to it, and nothing but Python.
"""

from __future__ import annotations

import calendar
import datetime as dt
import re
from collections.abc import Callable
from zoneinfo import ZoneInfo

import oozie_el as el

UTC = ZoneInfo("UTC")
# The length that a server assumes for a unit when it compares two offsets.
WEIGHTS = {"MINUTE": 12, "HOUR": 10, "DAY": 5, "WEEK": 3, "MONTH": 2, "YEAR": 1}


class Dataset:
    """A series of folders that appear over time."""

    def __init__(
        self,
        uri: str,
        every: int,
        unit: str,
        initial: str,
        timezone: str = "UTC",
        end_of: str | None = None,
        done_flag: str = "_SUCCESS",
        table: str = "",
        folder: str = "",
    ) -> None:
        self.template, self.every, self.unit = uri, every, unit
        self.timezone, self.done_flag = timezone, done_flag
        # A Hive table whose partitions are below a folder, if partitions are looked up.
        self.table, self.folder = table, folder
        self.initial = el.parse_time(initial)
        if end_of:
            moved = el.add_time(self.initial, end_of, 1, timezone)
            self.initial = el.start_of(moved, end_of, timezone)

    def instance(self, number: int) -> dt.datetime:
        """An instance, counted from the initial one."""
        return el.add_time(self.initial, self.unit, number * self.every, self.timezone)

    def step(self, instant: dt.datetime, count: int = 1) -> dt.datetime:
        """The instant `count` instances later. From a day that some months lack, steps give other results than `instance`."""
        return el.add_time(instant, self.unit, count * self.every, self.timezone)

    def reached(self, instant: dt.datetime) -> tuple[dt.datetime, int] | None:
        """The instance that a server finds for an instant by stepping, and its number."""
        if instant < self.initial:
            return None
        at, number = self.initial, 0
        units = self._units_until(instant)
        if units > 2:
            number = units // self.every
            at = self.instance(number)
        while at <= instant:
            at, number = self.step(at), number + 1
        return self.step(at, -1), number - 1

    def _units_until(self, instant: dt.datetime) -> int:
        lengths = {"MINUTE": 60, "HOUR": 3600, "DAY": 86400, "WEEK": 604800}
        if self.unit in lengths:
            seconds = int((instant - self.initial).total_seconds())
            return seconds // lengths[self.unit]
        zone = ZoneInfo(self.timezone)
        begin, end = self.initial.astimezone(zone), instant.astimezone(zone)
        years = end.year - begin.year
        return years if self.unit == "YEAR" else years * 12 + end.month - begin.month

    def current(self, instant: dt.datetime) -> int | None:
        """The number of the last instance that is not after an instant."""
        reached = self.reached(instant)
        return None if reached is None else reached[1]

    def before(self, wanted: dt.datetime) -> dt.datetime | None:
        """The last instance that is not after an instant, counted in steps from the initial one."""
        if wanted < self.initial:
            return None
        at = self.initial
        if self.unit in ("MINUTE", "HOUR"):
            length = self.step(at) - at
            return at + (wanted - at) // length * length
        while at < wanted:
            at = self.step(at)
        at = self.step(at, -1) if at > wanted else at
        return at if at >= self.initial else None

    def uri(self, at: dt.datetime) -> str:
        """The folder of an instance."""
        at = at.astimezone(UTC)
        parts = {
            "YEAR": f"{at.year}",
            "MONTH": f"{at.month:02}",
            "DAY": f"{at.day:02}",
            "HOUR": f"{at.hour:02}",
            "MINUTE": f"{at.minute:02}",
        }
        # `${MONTH + 0}` has no leading zero.
        parts |= {f"{name} + 0": str(int(text)) for name, text in parts.items()}
        return re.sub(
            r"\$\{(\w+(?: \+ 0)?)\}", lambda m: parts.get(m[1], m[0]), self.template
        )

    def is_done(self, uri: str, exists: Callable[[str], bool]) -> bool:
        """Whether an instance is complete: `exists` is asked for its folder, the flag in it, or the partition of its table."""
        if self.table:
            partition = el.path_of(uri)[len(self.folder) :].strip("/")
            return exists(f"hive://{self.table}/{partition}")
        return exists(f"{uri.rstrip('/')}/{self.done_flag}" if self.done_flag else uri)


class MissingDataset(Dataset):
    """A dataset that was not available when the file that names it was written: replace it with a `Dataset`."""

    def __init__(self, reason: str) -> None:
        self.reason, self.timezone = reason, "UTC"

    def reached(self, instant: dt.datetime) -> tuple[dt.datetime, int] | None:
        """Fails, because its instances are unknown."""
        raise el.Error(self.reason)

    def uri(self, at: dt.datetime) -> str:
        """Fails, because its folders are unknown."""
        raise el.Error(self.reason)


class Moment:
    """The nominal time of a run, from the point of view of a dataset."""

    def __init__(self, dataset: Dataset, at: dt.datetime) -> None:
        self.dataset, self.at = dataset, at

    def _moved(self, count: int) -> dt.datetime | None:
        dataset = self.dataset
        if dataset.initial > self.at:
            return None
        steps = int(count) * dataset.every
        return el.add_time(self.at, dataset.unit, steps, dataset.timezone)

    def hours_in_day(self, count: int) -> int:
        """`coord:hoursInDay`: of the day that many instances later."""
        moved = self._moved(count)
        if moved is None:
            return -1
        zone = ZoneInfo(self.dataset.timezone)
        early = moved.astimezone(zone).replace(hour=0, minute=30, fold=0)
        late = early.astimezone(UTC) + dt.timedelta(days=1)
        return {1: 23, 23: 25}.get(late.astimezone(zone).hour, 24)

    def days_in_month(self, count: int) -> int:
        """`coord:daysInMonth`: of the month that many instances later."""
        moved = self._moved(count)
        if moved is None:
            return -1
        wall = moved.astimezone(ZoneInfo(self.dataset.timezone))
        return calendar.monthrange(wall.year, wall.month)[1]

    def tz_offset(self, zone: str) -> int:
        """`coord:tzOffset`: minutes from a zone to that of the dataset."""
        here, there = (
            self.at.astimezone(ZoneInfo(name)).utcoffset() or dt.timedelta()
            for name in (self.dataset.timezone, zone)
        )
        return (here - there) // dt.timedelta(minutes=1)


# An instance as written, or a function that returns it for a run.
Instance = str | Callable[[Moment], str]


class Data:
    """Instances of a dataset that a run reads or writes.

    Either `instances`, one by one, or all from `first` to `last`, which come newest first. Each is a text, or a function
    that gives one for a `Moment`.
    """

    def __init__(
        self,
        dataset: Dataset,
        instances: list[Instance] | None = None,
        first: Instance | None = None,
        last: Instance | None = None,
    ) -> None:
        self.dataset = dataset
        self.instances, self.first, self.last = instances or [], first, last

    @property
    def needs_looking(self) -> bool:
        """Whether the instances depend on the data that exists."""
        texts = [*self.instances, self.first, self.last]
        return any(
            isinstance(text, str) and text.startswith(("latest", "future"))
            for text in texts
        )

    def _text(self, instance: Instance, at: dt.datetime) -> str:
        if isinstance(instance, str):
            return instance
        return instance(Moment(self.dataset, at))

    def uris(self, at: dt.datetime) -> list[str]:
        """The folders for a nominal time."""
        if self.first is None or self.last is None:
            found = [self._one(self._text(one, at), at) for one in self.instances]
            return [uri for uri in found if uri]
        start, end = self._text(self.first, at), self._text(self.last, at)
        name, arguments = _arguments(start)
        reached = self.dataset.reached(at)
        if reached is None:
            return []
        if name == "offset":
            return self._between(reached[0], arguments, _arguments(end)[1])
        last = int(_arguments(end)[1][0])
        if name == "current":
            first = int(arguments[0])
        else:
            begin = self._boundary(name, arguments, at)
            found = self.dataset.reached(begin)
            if found is None or found[0] != begin:
                raise el.Error(f"{start} is no instance of the dataset")
            first = found[1] - reached[1]
        if first > last:
            raise el.Error(f"{start} is after {end}")
        # A server continues from the first one, step by step.
        instance, found = self.dataset.instance(reached[1] + first), []
        for _ in range(first, last + 1):
            if instance >= self.dataset.initial:
                found.append(instance)
            instance = self.dataset.step(instance)
        return [self.dataset.uri(one) for one in reversed(found)]

    def _between(
        self, base: dt.datetime, first: list[str], last: list[str]
    ) -> list[str]:
        weighed = [int(steps) * WEIGHTS.get(unit, 0) for steps, unit in (first, last)]
        if weighed[0] > weighed[1]:
            raise el.Error(f"offset({first[0]}, {first[1]}) is after the end")
        begin, end = (
            el.add_time(base, unit, int(steps), self.dataset.timezone)
            for steps, unit in (first, last)
        )
        instance, found = self.dataset.before(end), []
        while instance is not None and instance >= max(begin, self.dataset.initial):
            found.append(self.dataset.uri(instance))
            instance = self.dataset.step(instance, -1)
        return found

    def _one(self, text: str, at: dt.datetime) -> str | None:
        name, arguments = _arguments(text)
        if name == "absolute":
            return self.dataset.uri(el.parse_time(arguments[0]))
        if name not in ("current", "offset"):
            raise el.Error(f"{text} depends on what is there")
        reached = self.dataset.reached(at)
        if reached is None:
            return None
        if name == "current":
            found = self.dataset.instance(reached[1] + int(arguments[0]))
        else:
            steps, unit = int(arguments[0]), arguments[1]
            if unit not in WEIGHTS:
                raise el.Error(f"{text} has no such unit")
            moved = el.add_time(reached[0], unit, steps, self.dataset.timezone)
            found = self.dataset.before(moved)
        if found is None or found < self.dataset.initial:
            return None
        return self.dataset.uri(found)

    def _boundary(
        self, name: str, arguments: list[str], at: dt.datetime
    ) -> dt.datetime:
        if name == "absolute":
            return el.parse_time(arguments[0])
        unit = {"endOfDays": "DAY", "endOfWeeks": "WEEK", "endOfMonths": "MONTH"}[name]
        start = el.start_of(at, unit, self.dataset.timezone)
        return el.add_time(start, unit, int(arguments[0]) + 1, self.dataset.timezone)

    def look(
        self, at: dt.datetime, made: dt.datetime, exists: Callable[[str], bool]
    ) -> list[str] | None:
        """The folders, if everything needed exists."""
        found = self.places(at, made, exists)
        there = [uri for uri in found if uri is not None]
        return there if len(there) == len(found) else None

    def places(
        self, at: dt.datetime, made: dt.datetime, exists: Callable[[str], bool]
    ) -> list[str | None]:
        """The folders in order, with None for each one that does not exist."""
        if not self.needs_looking:
            uris = self.uris(at)
            return [uri if self.dataset.is_done(uri, exists) else None for uri in uris]
        wanted: list[int] = []
        for text in [self.last, self.first] if self.first else self.instances:
            name, arguments = _arguments(self._text(text or "", at))
            wanted.append(int(arguments[0]))
        numbers = range(max(wanted), min(wanted) - 1, -1) if self.first else wanted
        if name == "future":
            numbers = range(min(wanted), max(wanted) + 1) if self.first else wanted
            limit = int(arguments[1])
            if min(wanted) < 0 or limit <= 0:
                raise el.Error("future counts from 0 on, within a limit above 0")
            count = self.dataset.current(at)
            walk = range(count or 0, (count or 0) + limit + 1)
        else:
            if max(wanted) > 0:
                raise el.Error("latest counts from 0 backwards")
            count = self.dataset.current(made)
            walk = range(count or 0, -1, -1)
        if count is None:
            # Before the first instance there is nothing to wait for.
            return []
        found: list[str] = []
        needed = max(abs(number) for number in numbers) + 1
        for number in walk:
            uri = self.dataset.uri(self.dataset.instance(number))
            if self.dataset.is_done(uri, exists):
                found.append(uri)
            if len(found) == needed:
                return [found[abs(n)] for n in numbers]
        # None of them is settled until all are.
        return [None]


class Logic:
    """The input logic of a coordinator: which inputs of a run suffice.

    `kind` is `and`, `or`, `combine` or `data-in`; the last has `data` and the name of its event, the others have `parts`.
    """

    needs_looking = True

    def __init__(
        self,
        kind: str,
        *parts: Logic,
        data: Data | None = None,
        event: str | None = None,
        name: str | None = None,
        least: int | None = None,
        wait: int | None = None,
    ) -> None:
        self.kind, self.parts, self.data, self.event = kind, parts, data, event
        self.name, self.least, self.wait = name, least, wait

    def look(
        self, at: dt.datetime, made: dt.datetime, exists: Callable[[str], bool]
    ) -> dict[str, list[str]] | None:
        """The folders that suffice, by the names of the logic and of its inputs; None while more must be waited for."""
        waited = dt.datetime.now(UTC) - max(at, made)
        found: dict[str, list[str]] = {}

        def places(part: Logic) -> list[str | None]:
            every = part.data.places(at, made, exists) if part.data else []
            if part.event:
                found[part.event] = [uri for uri in every if uri is not None]
            return every

        met = self._met(places, waited / dt.timedelta(minutes=1), found, None, None)
        return found if isinstance(met, list) else None

    def _met(
        self,
        places: Callable[[Logic], list[str | None]],
        waited: float,
        found: dict[str, list[str]],
        least: int | None,
        wait: int | None,
    ) -> list[str] | bool:
        """What suffices; `True` if more may still arrive, `False` if it does not suffice."""
        least = self.least if self.least is not None else least
        if self.kind == "data-in":
            wait = self.wait if self.wait is not None else wait
            met = _enough(places(self), least, wait, waited)
        elif self.kind == "combine":
            every = [places(part) for part in self.parts]
            longest = max((len(one) for one in every), default=0)
            padded = [[*one, *[None] * (longest - len(one))] for one in every]
            slots = [next((uri for uri in slot if uri), None) for slot in zip(*padded)]
            met = _enough(slots, least, self.wait, waited)
        else:
            met = self._joined(places, waited, found, least)
        if self.name and isinstance(met, list):
            found[self.name] = met
        return met

    def _joined(
        self,
        places: Callable[[Logic], list[str | None]],
        waited: float,
        found: dict[str, list[str]],
        least: int | None,
    ) -> list[str] | bool:
        # All are asked, because each may have its own name.
        judged = [
            part._met(places, waited, found, least, self.wait) for part in self.parts
        ]
        together: list[str] = []
        for met in judged:
            if met is True:
                return True
            if self.kind == "or" and isinstance(met, list):
                return met
            if self.kind == "and":
                if not isinstance(met, list):
                    return False
                # The one on the right comes first.
                together = met + together
        return False if self.kind == "or" else together


def _enough(
    places: list[str | None], least: int | None, wait: int | None, waited: float
) -> list[str] | bool:
    there = [uri for uri in places if uri is not None]
    if len(there) == len(places):
        return there
    if wait and waited < wait:
        return True
    return there if least is not None and 0 <= least <= len(there) else False


def _arguments(text: str) -> tuple[str, list[str]]:
    found = re.fullmatch(r"(\w+)\((.*)\)", text)
    if not found:
        raise el.Error(f"{text!r} names no instance")
    parts = [part.strip() for part in found[2].split(",")]
    # A server cuts off the fraction of a number, which a division has.
    return found[1], [re.sub(r"^(-?\d+)\.\d+$", r"\1", part) for part in parts]
