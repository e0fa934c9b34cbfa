"""Oozie's expression language: the coercions, operators and functions that templates of converted DAGs use.

It needs nothing but the standard library. Results are those of Oozie 5.2 and later.
"""

from __future__ import annotations

import datetime as dt
import math
import re
import shlex
import urllib.parse
from typing import Any
from zoneinfo import ZoneInfo

UTC = ZoneInfo("UTC")
KB, MB, GB, TB, PB = (1024**power for power in range(1, 6))


class Error(ValueError):
    """An expression that Oozie would refuse to evaluate."""


def text(value: Any) -> str:
    """A value as text: an empty string for null, and numbers as Java writes them."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return _double(value)
    if isinstance(value, dict):
        pairs = (f"{_item(key)}={_item(value[key])}" for key in sorted(value))
        return "{" + ", ".join(pairs) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_item, value)) + "]"
    return str(value)


def _item(value: Any) -> str:
    """A value in a collection, where null is written as `null`."""
    return "null" if value is None else text(value)


def _double(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        plain = f"{value!r}"
        return plain if "e" not in plain else format(value, "f")
    mantissa, exponent = f"{value:e}".split("e")
    shortest = repr(value)
    if "e" in shortest:
        mantissa, exponent = shortest.split("e")
    else:
        digits = shortest.replace(".", "").replace("-", "").strip("0") or "0"
        mantissa = ("-" if value < 0 else "") + digits[0] + "." + (digits[1:] or "0")
    if "." not in mantissa:
        mantissa += ".0"
    return f"{mantissa}E{int(exponent)}"


def truth(value: Any) -> bool:
    """A value as a condition."""
    if value is None:
        return False
    if isinstance(value, bool):
        return value
    if isinstance(value, str):
        return value.lower() == "true"
    raise Error(f"{value!r} is not a truth value")


def is_true(rendered: Any) -> bool:
    """Whether the predicate of a decision is true: it must be the text `true`."""
    return text(rendered).strip() == "true"


def _looks_double(value: Any) -> bool:
    return isinstance(value, float) or (
        isinstance(value, str) and any(c in value for c in ".eE")
    )


def _number(value: Any) -> int | float:
    if value is None or value == "":
        return 0
    if isinstance(value, (bool, dict)):
        raise Error(f"{value!r} is not a number")
    if isinstance(value, (int, float)):
        return value
    if value != value.strip() or "_" in value:
        raise Error(f"{value!r} is not a number")
    try:
        number = float(value) if _looks_double(value) else int(value)
    except ValueError as error:
        raise Error(f"{value!r} is not a number") from error
    if isinstance(number, int) and number != _long(number):
        raise Error(f"{value!r} is too large a number")
    return number


def _long(value: int) -> int:
    return (value + 2**63) % 2**64 - 2**63


def _arithmetic(left: Any, right: Any, operation: Any) -> int | float:
    if left is None and right is None:
        return 0
    left, right = _number(left), _number(right)
    if isinstance(left, float) or isinstance(right, float):
        return operation(float(left), float(right))
    return _long(operation(left, right))


def add(left: Any, right: Any) -> int | float:
    """`left + right`: always numbers."""
    return _arithmetic(left, right, lambda a, b: a + b)


def sub(left: Any, right: Any) -> int | float:
    """`left - right`."""
    return _arithmetic(left, right, lambda a, b: a - b)


def mul(left: Any, right: Any) -> int | float:
    """`left * right`."""
    return _arithmetic(left, right, lambda a, b: a * b)


def div(left: Any, right: Any) -> int | float:
    """`left / right`: always with a fraction."""
    if left is None and right is None:
        return 0
    left, right = float(_number(left)), float(_number(right))
    if right == 0:
        return (
            math.nan if left == 0 or math.isnan(left) else math.copysign(math.inf, left)
        )
    return left / right


def mod(left: Any, right: Any) -> int | float:
    """`left % right`: the sign is that of the dividend."""
    if left is None and right is None:
        return 0
    left, right = _number(left), _number(right)
    if isinstance(left, float) or isinstance(right, float):
        return math.nan if right == 0 else math.fmod(left, right)
    if right == 0:
        raise Error("division by zero")
    remainder = abs(left) % abs(right)
    return -remainder if left < 0 else remainder


def neg(value: Any) -> int | float:
    """`-value`."""
    if value == "":
        raise Error("an empty text has no sign")
    return -_number(value)


def not_(value: Any) -> bool:
    """`not value`."""
    return not truth(value)


def empty(value: Any) -> bool:
    """`empty value`."""
    return (
        value is None or value == "" or (isinstance(value, (dict, list)) and not value)
    )


def _is_integral(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _as_long(value: Any) -> int:
    number = _number(value) if not isinstance(value, str) else None
    if number is None:
        try:
            return int(value) if value else 0
        except ValueError as error:
            raise Error(f"{value!r} is not a whole number") from error
    return int(number)


def eq(left: Any, right: Any) -> bool:
    """`left == right`."""
    if left is None or right is None:
        return left is None and right is None
    if isinstance(left, float) or isinstance(right, float):
        return float(_number(left)) == float(_number(right))
    if _is_integral(left) or _is_integral(right):
        return _as_long(left) == _as_long(right)
    if isinstance(left, bool) or isinstance(right, bool):
        return truth(left) == truth(right)
    if isinstance(left, str) or isinstance(right, str):
        return text(left) == text(right)
    return left == right


def ne(left: Any, right: Any) -> bool:
    """`left != right`."""
    return not eq(left, right)


def _compare(left: Any, right: Any) -> int | None:
    if left is None or right is None:
        return 0 if left is None and right is None else None
    if isinstance(left, float) or isinstance(right, float):
        left, right = float(_number(left)), float(_number(right))
    elif _is_integral(left) or _is_integral(right):
        left, right = _as_long(left), _as_long(right)
    elif isinstance(left, str) or isinstance(right, str):
        left, right = (text(v).encode("utf-16-be") for v in (left, right))
    else:
        raise Error(f"{left!r} and {right!r} have no order")
    return (left > right) - (left < right)


def lt(left: Any, right: Any) -> bool:
    """`left < right`."""
    order = _compare(left, right)
    return order is not None and order < 0


def gt(left: Any, right: Any) -> bool:
    """`left > right`."""
    order = _compare(left, right)
    return order is not None and order > 0


def le(left: Any, right: Any) -> bool:
    """`left <= right`."""
    order = _compare(left, right)
    return order is not None and order <= 0


def ge(left: Any, right: Any) -> bool:
    """`left >= right`."""
    order = _compare(left, right)
    return order is not None and order >= 0


def get(base: Any, *keys: Any) -> Any:
    """`base[key]`, `base[key][key]` and so on; null if there is no such key."""
    if base is None:
        raise Error("null has no properties")
    for key in keys:
        if base is None or key is None:
            return None
        if isinstance(base, dict):
            base = base.get(text(key))
        elif isinstance(base, (list, tuple)):
            index = _index(key)
            base = base[index] if 0 <= index < len(base) else None
        else:
            raise Error(f"{base!r} has no properties")
    return base


def _index(key: Any) -> int:
    if isinstance(key, bool):
        return int(key)
    if key == "":
        raise Error("an empty text is no index")
    return _as_long(key)


def conf(values: Any, name: str) -> str | None:
    """A property of the job, with references to other properties resolved; null if it is missing or empty."""
    value = values.get(name) if name in values else None
    if value is None or value == "":
        return None
    result = text(value)
    for _ in range(20):
        found = re.search(r"\$\{([^}$\s]+)\}", result)
        if not found or found[1] not in values:
            return result
        result = (
            result[: found.start()] + text(values[found[1]]) + result[found.end() :]
        )
    raise Error(f"the property {name} refers to itself")


def concat(*parts: Any) -> str:
    """The parts, concatenated."""
    return "".join(text(part) for part in parts)


def first_not_null(first: Any, second: Any) -> Any:
    """The first value unless it is null, else the second. An empty string is not null."""
    return second if first is None else first


def trim(value: Any) -> str:
    """A text without whitespace at either end."""
    return text(value).strip("".join(map(chr, range(33))))


def to_lower(value: Any) -> str:
    """A text in lower case."""
    return text(value).lower()


def to_upper(value: Any) -> str:
    """A text in upper case."""
    return text(value).upper()


def url_encode(value: Any) -> str:
    """A text, encoded as part of a URL."""
    encoded = urllib.parse.quote_plus(text(value), safe="*-._")
    return encoded.replace("~", "%7E")


def replace_all(value: Any, pattern: Any, replacement: Any) -> str:
    """A text with every match of a pattern replaced."""
    parts = re.findall(r"\\(.)|\$(\d)|([^\\$])|(.)", text(replacement), re.DOTALL)
    if any(odd for *_, odd in parts):
        raise Error(f"{replacement!r} is no replacement")

    def replaced(match: re.Match[str]) -> str:
        return "".join(
            (match[int(group)] or "") if group else escaped or plain
            for escaped, group, plain, _ in parts
        )

    return re.sub(text(pattern), replaced, text(value))


def append_all(value: Any, suffix: Any, separator: Any) -> str:
    """A text with a suffix after each of its parts."""
    parts = text(value).split(text(separator))
    return text(separator).join(part + text(suffix) for part in parts)


def properties(output: Any) -> dict[str, str]:
    """The output of a program, read as Java properties."""
    values: dict[str, str] = {}
    for line in text(output).splitlines():
        line = line.strip()
        if not line or line[0] in "#!":
            continue
        found = re.match(r"((?:\\.|[^=:\s\\])*)\s*[=:]?\s*(.*)", line)
        if found:
            values[_unescaped(found[1])] = _unescaped(found[2])
    return values


def _unescaped(written: str) -> str:
    """A text from Java properties, without its escapes."""
    named = {"n": "\n", "t": "\t", "r": "\r", "f": "\f"}
    return re.sub(
        r"\\(?:u([0-9a-fA-F]{4})|(.))",
        lambda m: chr(int(m[1], 16)) if m[1] else named.get(m[2], m[2]),
        written,
    )


def parse_time(value: Any) -> dt.datetime:
    """An instant as Oozie writes it: `2026-01-31T00:00Z`."""
    written = text(value)
    if not written.endswith("Z"):
        raise Error(f"{written!r} is no time")
    return dt.datetime.strptime(written, "%Y-%m-%dT%H:%MZ").replace(tzinfo=UTC)


def write_time(instant: dt.datetime) -> str:
    """An instant as Oozie writes it."""
    instant = instant.astimezone(UTC)
    return f"{instant.year:04}-{instant.month:02}-{instant.day:02}T{instant.hour:02}:{instant.minute:02}Z"


def timestamp() -> str:
    """The current time."""
    return write_time(dt.datetime.now(UTC))


_MONTHS = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]
_DAYS = [
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
    "Sunday",
]


def format_time(value: Any, pattern: Any) -> str:
    """A time in a format of Java's SimpleDateFormat, in UTC."""
    at, result = parse_time(value), []
    for found in re.finditer(
        r"'((?:[^']|'')*)'|([A-Za-z])\2*|[^A-Za-z']", text(pattern)
    ):
        part = found[0]
        if part[0] == "'":
            result.append(found[1].replace("''", "'") or "'")
        elif found[2]:
            result.append(_field(at, part[0], len(part)))
        else:
            result.append(part)
    return "".join(result)


def _field(at: dt.datetime, letter: str, width: int) -> str:
    if letter == "Y":
        return _field(_end_of_week(at), "y", width)
    if letter == "y":
        return f"{at.year % 100:02}" if width == 2 else f"{at.year:0{width}}"
    if letter in "ML" and width > 2:
        return _MONTHS[at.month - 1] if width > 3 else _MONTHS[at.month - 1][:3]
    if letter == "E":
        return _DAYS[at.weekday()] if width > 3 else _DAYS[at.weekday()][:3]
    if letter == "a":
        return "AM" if at.hour < 12 else "PM"
    if letter == "G":
        return "AD"
    if letter in "zZX":
        zones = {
            "z": "UTC" if width < 4 else "Coordinated Universal Time",
            "Z": "+0000",
            "X": "Z",
        }
        return zones[letter]
    sunday = (at.weekday() + 1) % 7
    first = (sunday - (at.timetuple().tm_yday - 1)) % 7
    week = (at.timetuple().tm_yday - 1 + first) // 7 + 1
    numbers = {
        "M": at.month,
        "L": at.month,
        "d": at.day,
        "H": at.hour,
        "k": at.hour or 24,
        "K": at.hour % 12,
        "h": at.hour % 12 or 12,
        "m": at.minute,
        "s": 0,
        "S": 0,
        "D": at.timetuple().tm_yday,
        "F": (at.day - 1) // 7 + 1,
        "u": at.isoweekday(),
        "w": 1 if _end_of_week(at).year > at.year else week,
        "W": (at.day - 1 + (sunday - at.day + 1) % 7) // 7 + 1,
    }
    if letter not in numbers:
        raise Error(f"{letter} is no letter of a pattern")
    return f"{numbers[letter]:0{width}}"


def _end_of_week(at: dt.datetime) -> dt.datetime:
    """The Saturday of a week, which determines the year that the week belongs to."""
    return at + dt.timedelta(days=(5 - at.weekday()) % 7)


def epoch_time(value: Any, millis: Any) -> str:
    """Seconds since 1970, or milliseconds."""
    seconds = int(parse_time(value).timestamp())
    return str(seconds * 1000 if text(millis).lower() == "true" else seconds)


def add_time(
    instant: dt.datetime, unit: str, count: int, zone: str = "UTC"
) -> dt.datetime:
    """The instant `count` units later. Days and months keep the local time of the zone."""
    instant = instant.astimezone(UTC)
    if unit in ("MINUTE", "HOUR"):
        return instant + dt.timedelta(minutes=count * (60 if unit == "HOUR" else 1))
    local = instant.astimezone(ZoneInfo(zone))
    wall = local.replace(tzinfo=None)
    if unit in ("DAY", "WEEK"):
        days = dt.timedelta(days=count * (7 if unit == "WEEK" else 1))
        plain = instant + days
        after = plain.astimezone(ZoneInfo(zone))
        corrected = plain + (local.utcoffset() - after.utcoffset())
        same_day = corrected.astimezone(ZoneInfo(zone)).date() == (wall + days).date()
        return corrected if same_day else plain
    months = wall.year * 12 + wall.month - 1 + count * (12 if unit == "YEAR" else 1)
    year, month = divmod(months, 12)
    next_month = dt.date(year + (month == 11), (month + 1) % 12 + 1, 1)
    day = min(wall.day, (next_month - dt.timedelta(days=1)).day)
    moved = wall.replace(year=year, month=month + 1, day=day)
    # A local time that occurs twice is the later one.
    ambiguous = moved.replace(tzinfo=ZoneInfo(zone), fold=1)
    gap = (
        ambiguous.astimezone(UTC).astimezone(ZoneInfo(zone)).replace(tzinfo=None)
        != moved
    )
    return ambiguous.replace(fold=0 if gap else 1).astimezone(UTC)


def most_steps(start: dt.datetime, end: dt.datetime, unit: str, every: int) -> int:
    """A number of steps that is sure to lead from one instant past another."""
    shortest = {
        "MINUTE": 60,
        "HOUR": 3600,
        "DAY": 82800,
        "WEEK": 600000,
        "MONTH": 2330000,
    }
    length = shortest.get(unit, 31400000) * every
    return max(0, int((end - start).total_seconds() / length)) + 2


def start_of(instant: dt.datetime, period: str, zone: str) -> dt.datetime:
    """Midnight at the start of the day, week or month that contains an instant."""
    wall = instant.astimezone(ZoneInfo(zone)).replace(
        tzinfo=None, hour=0, minute=0, second=0
    )
    if period == "WEEK":
        wall -= dt.timedelta(days=(wall.weekday() + 1) % 7)
    if period == "MONTH":
        wall = wall.replace(day=1)
    return wall.replace(tzinfo=ZoneInfo(zone)).astimezone(UTC)


_UNITS = {
    **{unit: unit for unit in ("MINUTE", "HOUR", "DAY", "WEEK", "MONTH", "YEAR")},
    **{f"END_OF_{unit}": unit for unit in ("DAY", "WEEK", "MONTH")},
}


def date_offset(value: Any, count: Any, unit: Any) -> str:
    """The time `count` units later, in UTC."""
    name = text(unit)
    if name == "CRON":
        return write_time(parse_time(value))
    if name not in _UNITS:
        raise Error(f"{name!r} is no unit of time")
    return write_time(add_time(parse_time(value), _UNITS[name], _as_long(count)))


# Three-letter names to which Java gives its own meaning.
_OLD_ZONES = {
    "PST": "America/Los_Angeles",
    "CST": "America/Chicago",
    "AST": "America/Anchorage",
    "CNT": "America/St_Johns",
    "ECT": "Europe/Paris",
    "IST": "Asia/Kolkata",
    "JST": "Asia/Tokyo",
    "CTT": "Asia/Shanghai",
}


def zone(name: Any) -> dt.tzinfo:
    """A time zone by its name, or by its offset from UTC: `GMT+0530`."""
    written = text(name)
    found = re.fullmatch(r"GMT([+-])(\d{1,2}):?(\d\d)", written)
    if not found:
        return ZoneInfo(_OLD_ZONES.get(written, written))
    distance = dt.timedelta(hours=int(found[2]), minutes=int(found[3]))
    return dt.timezone(-distance if found[1] == "-" else distance)


def date_tz_offset(value: Any, name: Any) -> str:
    """A time in the local time of a zone. The letter Z stays, as in Oozie."""
    return write_time(parse_time(value).astimezone(zone(name)).replace(tzinfo=UTC))


def path_of(uri: str) -> str:
    """The path within the file system of a URI."""
    return re.sub(r"^[a-zA-Z][a-zA-Z0-9+.-]*://[^/]*", "", uri) or "/"


def quote(value: Any) -> str:
    """A value as one shell word."""
    return shlex.quote(text(value))


def words(value: Any) -> str:
    """A value as shell words, split at whitespace."""
    one_line = re.sub(r"\s+", " ", text(value))
    return re.sub(r"\S+", lambda word: shlex.quote(word[0]), one_line)


def refuse(reason: str) -> str:
    """Fails: takes the place of an expression that cannot be evaluated here."""
    raise Error(reason)


def file_name(path: Any) -> str:
    """The last part of a path."""
    return text(path).split("#")[-1].rstrip("/").rsplit("/", 1)[-1]
