"""Arguments that mean nothing: the error says what was wrong, at which line of the user's, and what to write."""

from __future__ import annotations

import math
from collections.abc import Callable
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pytest

import oop
from oop.testing import check_aggregate


class Odd:
    def __repr__(self) -> str:
        return "odd"


ODD = Odd()


def refused(call: Callable[[], object], what: str, hint: str) -> None:
    with pytest.raises(oop.WrongArgument) as raised:
        call()
    error = raised.value
    assert what in error.what
    assert error.at is not None and "test_arguments.py" in error.at
    assert error.hint is not None and hint in error.hint
    assert isinstance(error, TypeError) and isinstance(error, ValueError)


def source(**columns: object) -> oop.Stream:
    return oop.source(pa.table({"ts": [1, 2], **columns}), time="ts", punctuate=oop.ordered(), name="north")


@pytest.mark.parametrize("tz", [ODD, 5, []], ids=str)
def test_calendar(tz: object) -> None:
    refused(lambda: oop.calendar("day", tz=tz), f"tz is the name of a time zone, not {tz!r}", "tz='Europe/Berlin'")  # type: ignore[arg-type]


def test_a_calendar_says_the_name_of_a_zone() -> None:
    zone = ZoneInfo("America/Lima")
    refused(lambda: oop.calendar("day", tz=zone), "not zoneinfo.ZoneInfo", "write tz='America/Lima'")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="a unit of the calendar"):
        oop.calendar([])  # type: ignore[arg-type]


@pytest.mark.parametrize("by", [3, [], [3], oop.col("k"), ["a", "a"]], ids=str)
def test_partitions_of_rows(by: object) -> None:
    refused(lambda: oop.rows(5, by=by), f"by= names the columns of partitions, each once, not {by!r}", "by='host'")  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [None, ODD, True, [], ("1s",)], ids=str)
def test_durations(value: object) -> None:
    for what, make in {
        "the gap of a session": lambda: oop.session(value),  # type: ignore[arg-type]
        "the range of a window": lambda: oop.tumbling(value),  # type: ignore[arg-type]
        "every": lambda: oop.sliding(5, value),  # type: ignore[arg-type]
        "offset": lambda: oop.tumbling(5, offset=value),  # type: ignore[arg-type]
    }.items():
        refused(make, f"{what} is a duration, not {value!r}", "'5s'")
    if value is not None:
        refused(lambda: oop.landmark(0, every=value), f"every is a duration, not {value!r}", "'5s'")  # type: ignore[arg-type]
        refused(lambda: source().dedup("ts", within=value), f"not a duration: {value!r}", "'5s'")  # type: ignore[arg-type]


def test_a_span_that_no_two_times_are_apart() -> None:
    refused(lambda: source().dedup("ts", within=2**63), "does not fit 64-bit times", "a smaller one")


@pytest.mark.parametrize("type_", [pa.int64(), pa.float64(), pa.timestamp("s")], ids=str)
@pytest.mark.parametrize("value", [ODD, True, [], 1j], ids=str)
def test_durations_of_policies(value: object, type_: pa.DataType) -> None:
    table = pa.table({"ts": pa.array([], type_)})
    policy = oop.slack(value)  # type: ignore[arg-type]
    refused(lambda: oop.source(table, time="ts", punctuate=policy), f"not a duration: {value!r}", "'5s'")


def test_durations_of_numpy_are_durations() -> None:
    s = oop.source(pa.table({"ts": pa.array([0, 7], pa.timestamp("s"))}), time="ts", punctuate=oop.ordered())
    for gap in (np.int32(5), np.timedelta64(5, "s")):
        assert s.window(oop.session(gap)).agg(n=oop.count()).run().to_table().num_rows == 2  # type: ignore[arg-type]


@pytest.mark.parametrize("start", [None, ODD, True, [], math.nan, math.inf, np.datetime64("NaT")], ids=str)
def test_landmarks(start: object) -> None:
    refused(lambda: oop.landmark(start), "a landmark is a point in time, not", "'2024-01-01'")  # type: ignore[arg-type]


def test_a_landmark_as_text_is_a_date_or_a_time() -> None:
    refused(lambda: oop.landmark("2024-01-01 …"), "the landmark '2024-01-01 …' is no date or time", "'2024-01-01'")
    s = oop.source(pa.table({"ts": pa.array([0], pa.date32())}), time="ts", punctuate=oop.ordered())
    window = s.window(oop.landmark(np.datetime64("1969-12-31"), every="1d"))  # type: ignore[arg-type]
    assert [str(end) for end in window.agg(n=oop.count()).run().to_table()["window_end"].to_pylist()] == ["1970-01-02"]


@pytest.mark.parametrize("q", ["a", "0.5", None, math.nan, True, ODD, 2, -0.1, [], [0.5, None], [True], ["a"]], ids=str)
def test_quantiles(q: object) -> None:
    refused(lambda: oop.quantile("x", q=q), f"q is a number from 0 to 1, or several, not {q!r}", "q=0.5")  # type: ignore[arg-type]


def test_quantiles_that_are_numbers() -> None:
    assert oop.quantile("x", np.float32(0.5)).q == 0.5  # type: ignore[arg-type]
    assert oop.quantile("x", np.array([0, 1])).q == (0.0, 1.0)  # type: ignore[arg-type]


@pytest.mark.parametrize("shares", ["0.9", ["0.9"], None, [None], [math.nan], True, [0], [99]], ids=str)
def test_shares(shares: object) -> None:
    late = source().run().late
    refused(lambda: late.needed_slack(shares=shares), "a share is a number above 0 and at most 1, not", "shares=[")  # type: ignore[arg-type]


def test_one_share_may_be_given_as_it_is() -> None:
    late = source().run().late
    assert [need.share for need in late.needed_slack(shares=0.9).needs] == [0.9]
    refused(lambda: late.needed_slack().of(0.5), "the share 0.5 was not asked for", "shares=[0.5]")


@pytest.mark.parametrize("bins", [5, "1s", [None, None]], ids=str)
def test_bins(bins: object) -> None:
    late = source().run().late
    refused(lambda: late.histogram(bins=bins), "bins are" if bins != [None, None] else "not a duration", "write")  # type: ignore[arg-type]


def test_a_source_that_there_is_not() -> None:
    late = oop.union(source(), source().filter(oop.col("ts") > 0)).run().late
    asked: list[Callable[[], object]] = [lambda: late["nort"], lambda: late.needed_slack("nort"), lambda: late[0]]  # type: ignore[index]
    for ask in asked:
        with pytest.raises(
            oop.UnknownSource, match=r"there is no source ('nort'|0) \(at .*test_arguments.py"
        ) as raised:
            ask()
        assert "'north'" in str(raised.value.hint)
        assert isinstance(raised.value, KeyError)
    with pytest.raises(oop.UnknownColumn, match=r"test_arguments\.py"):
        late.histogram("north", on="tx")


def test_no_aggregate() -> None:
    s = source()
    asked: list[Callable[[], object]] = [
        lambda: s.agg(),
        lambda: s.group_by("ts").agg(),
        lambda: s.window(oop.tumbling(5)).agg(),
        lambda: s.window(oop.tumbling(5)).group_by("ts").agg(),
    ]
    for ask in asked:
        refused(ask, ".agg() was given no aggregate", ".agg(n=oop.count())")
    refused(lambda: s.agg(n=oop.count), "n is not an aggregate such as oop.count()", "call it: .agg(n=")  # type: ignore[arg-type]
    refused(lambda: s.agg(n=5), "n is not an aggregate such as oop.count(): 5", "oop.count()")  # type: ignore[arg-type]


async def waiting(*_: int) -> int:
    return 0


async def waiting_often(*_: int):  # type: ignore[no-untyped-def]
    yield 0


def giving(*_: int):  # type: ignore[no-untyped-def]
    yield 0


def named(*_: int, step: int = 1) -> int:
    return step


def any_named(*_: int, **options: int) -> int:
    return len(options)


@pytest.mark.parametrize(
    ("function", "what", "hint"),
    [
        (waiting, "is an async function", "by return"),
        (waiting_often, "is an async generator", "by return"),
        (giving, "is a generator (it has a yield)", "by return"),
        (named, "takes step by name", "by place with a default, step=…"),
        (any_named, "takes options by name", "by place"),
    ],
    ids=lambda x: getattr(x, "__name__", ""),
)
def test_functions_that_cannot_be_compiled(function: Callable[..., int], what: str, hint: str) -> None:
    def total(s: int, v: int) -> int:
        return s + v

    if function not in (named, any_named):  # init is called, not compiled
        refused(lambda: oop.aggregate(function, total), f"init {what}", hint)
    refused(lambda: oop.aggregate(0, function), f"incr {what}", hint)
    refused(lambda: oop.aggregate(0, total, function), f"merge {what}", hint)
    refused(lambda: oop.aggregate(0, total, final=function), f"final {what}", hint)


def test_an_init_that_fails() -> None:
    with pytest.raises(oop.OopError, match=r"init of a user-defined aggregate failed: ZeroDivisionError") as raised:
        oop.aggregate(lambda: 1 // 0, lambda s, v: s)
    assert "test_arguments.py" in str(raised.value.at) and "init is 0" in str(raised.value.hint)
    assert isinstance(raised.value.__cause__, ZeroDivisionError)
    refused(lambda: oop.aggregate(lambda x: x, lambda s, v: s), "init takes no arguments, not (x)", "init is 0")
    refused(lambda: oop.aggregate(None, lambda s, v: s), "the state is a number", "init is 0")
    with pytest.raises(TypeError, match="of a column or an expression"):
        oop.aggregate(0, lambda s, v: s)(5)  # type: ignore[arg-type]


@pytest.mark.parametrize("kernels", ["reference", "jit", "native"])
def test_parameters_with_defaults(kernels: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """``step=step`` is how Python keeps a value of a loop."""
    monkeypatch.setenv("OOP_KERNELS", kernels)
    weighted = [oop.aggregate(0, lambda s, v, step=step: s + v * step) for step in (2, 3)]
    merged = oop.aggregate(
        0, lambda s, *v: s + v[0], lambda a, b, sign=1: a + sign * b, lambda s, scale=10, unit=None: s * scale
    )
    s = source(v=[4, 5], w=[10, 100])
    asked = {
        "twice": weighted[0]("v"),
        "thrice": weighted[1]("v"),
        "given": weighted[0]("v", "w"),
        "merged": merged("v"),
    }
    [row] = s.window(oop.tumbling(10)).agg(**asked).run().to_table().to_pylist()
    assert {name: row[name] for name in asked} == {"twice": 18, "thrice": 27, "given": 540, "merged": 90}
    check_aggregate(merged)


def test_columns_may_be_called_as_an_argument_is() -> None:
    s = oop.source(pa.table({"ts": [1, 2]}), time="ts", punctuate=oop.ordered())
    for made in (
        s.with_columns(self=oop.col("ts")),
        s.select("ts", self=oop.col("ts")),
        s.group_by("ts", self=oop.col("ts") // 2).agg(self_=oop.count()),
        s.window(oop.tumbling(5)).group_by(self=oop.col("ts")).agg(n=oop.count()),
        s.window(oop.tumbling(5)).agg(self=oop.count()),
    ):
        assert any(name.startswith("self") for name in made.run().to_table().column_names)
