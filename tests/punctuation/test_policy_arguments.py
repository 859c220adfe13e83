"""What policies take: values that make no sense are refused, durations get units before they start."""

import pytest

from oop.punctuation import at_end, ordered, punctuated, slack, timer
from oop.punctuation.durations import NANOSECONDS, in_units
from tests.punctuation.drawn import BOTH


@pytest.mark.parametrize("policy", [at_end(), punctuated(), punctuated(on="end")], ids=str)
def test_policies_that_look_at_no_row_promise_nothing(policy):
    progress = policy.start("ts")
    assert progress.observe([3, 1]) == [None, None]
    assert list(progress.promises()) == []
    assert not policy.is_data_driven


@pytest.mark.parametrize(
    "make",
    [
        lambda: slack(),
        lambda: slack(5, rows=3),
        lambda: slack(rows=-1),
        lambda: slack(rows=True),
        lambda: slack(rows=1.5),
        lambda: ordered(groups=["A"]),
        lambda: ordered(idle=5),
        lambda: ordered(by="link", groups=["A"], idle=5),
        lambda: ordered(by="link", groups="AB"),
        lambda: ordered(by="link", groups=[]),
        lambda: punctuated(on=[]),
        lambda: ordered(by=[]),
        lambda: ordered(by=5),
        lambda: ordered(by=["link", 5]),
        lambda: ordered(by=["link", "link"]),
        lambda: punctuated(by=["link", "link"]),
        lambda: ordered(by=["link", "proto"], groups=["A", "B"]),
        lambda: ordered(by=["link", "proto"], groups=["AB"]),
        lambda: ordered(by=["link", "proto"], groups=[("A", 6), ("A", 6, 1)]),
        lambda: ordered(by=["link", "proto"], groups=[{"link": "A"}]),
        lambda: ordered(by=["link", "proto"], groups=[{"link": "A", "proto": 6, "k": 1}]),
        lambda: ordered(by="link", groups=[{"proto": 6}]),
    ],
)
def test_arguments_that_make_no_sense_are_refused(make):
    with pytest.raises(ValueError, match=r"\w+"):
        make()


@pytest.mark.parametrize(
    "policy",
    [
        slack(-1),
        slack("-1s"),
        ordered(every=0),
        ordered(by="k", idle="0s"),
        timer("1s", lull=-1),
        timer(1, 1, "-1s"),
    ],
)
def test_durations_of_the_wrong_sign_are_refused(policy):
    with pytest.raises(ValueError, match=r"negative|greater than 0"):
        policy.in_units(lambda d: in_units(d, NANOSECONDS["s"]))


@pytest.mark.parametrize(
    "policy",
    [
        slack("5s"),
        ordered(every="1s"),
        ordered(by="k", idle="1s"),
        timer("1s", 5),
        timer(1, "5s"),
        timer(1, 5, "5s"),
        timer(1, 5, by="k", idle="5s"),
    ],
    ids=str,
)
def test_a_policy_starts_only_when_its_durations_are_numbers(policy):
    with pytest.raises(ValueError, match="in_units"):
        policy.start("ts")
    policy.in_units(lambda d: in_units(d, NANOSECONDS["s"])).start("ts")


def test_a_list_of_one_column_is_its_name():
    for make in (ordered, lambda **by: slack(5, **by), lambda **by: slack(rows=2, **by), punctuated):
        assert make(by=["link"]) == make(by="link")
        assert str(make(by=["proto", "link"])).endswith("by link, proto")
    assert ordered(by=["link"], groups=["A"]) == ordered(by="link", groups=[{"link": "A"}])
    assert slack(5, by=["proto", "link"], groups=[(6, "A")]) == slack(5, **BOTH, groups=[{"proto": 6, "link": "A"}])
