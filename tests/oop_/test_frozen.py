"""``frozen`` makes the classes that ``dataclass(frozen=True)`` makes."""

import pickle
from collections.abc import Callable
from dataclasses import FrozenInstanceError, dataclass, field, fields, replace
from typing import Any, ClassVar

import pytest

from oop.frozen import frozen


def classes(make: Callable[..., Callable[[type], type]]) -> dict[str, type]:
    """Some classes, made by a decorator: each feature that ours use."""

    @make()
    class Empty:
        """No fields."""

    @make()
    class Point:
        """Fields with and without defaults."""

        x: Any
        y: int = 0
        ys: list = field(default_factory=list, compare=False)
        hidden: int = field(default=3, repr=False)
        unit: ClassVar[str] = "m"

        def __post_init__(self) -> None:
            if self.y < 0:
                raise ValueError("below")

    @make()
    class Deep(Point):
        """A field more."""

        z: int = 1

    class Plain(Point):
        """A subclass without a decorator."""

    @make(eq=False)
    class ByIdentity:
        """Equal to itself alone."""

        x: int

    @make(eq=False, repr=False)
    class Bare:
        """Its text is that of all objects."""

        x: int

    @make()
    class Own:
        """It has the methods itself."""

        x: int

        def __repr__(self) -> str:
            return "own"

        def __eq__(self, other: object) -> bool:
            return True

        def __hash__(self) -> int:
            return 7

    @make()
    class HalfOwn:
        """Equal in a way of its own, and with the hash of its fields."""

        x: int

        def __eq__(self, other: object) -> bool:
            return isinstance(other, HalfOwn)

    return {name: made for name, made in locals().items() if isinstance(made, type)}


def standard(**options: bool) -> Callable[[type], type]:
    return dataclass(frozen=True, **options)


OURS, THEIRS = classes(frozen), classes(standard)
ARGUMENTS = [(), (1,), (1, 2), (1, 2, [3]), (1, 2, [4]), (1, 2, [], 5), (1, 2, [], 5, 6), (float("nan"),), ("1",)]


def objects(name: str) -> list[tuple[Any, Any]]:
    """The same objects of our class and of theirs."""
    found = []
    for arguments in ARGUMENTS:
        try:
            theirs = THEIRS[name](*arguments)
        except TypeError:
            with pytest.raises(TypeError):
                OURS[name](*arguments)
        else:
            found.append((OURS[name](*arguments), theirs))
    assert found
    return found


@pytest.mark.parametrize("name", sorted(OURS))
def test_it_makes_the_same_classes(name):
    made = objects(name)
    for ours, theirs in made:
        if name != "Bare":
            assert repr(ours).replace("frozen", "standard") == repr(theirs).replace("frozen", "standard")
        assert [each.name for each in fields(ours)] == [each.name for each in fields(theirs)]
        assert OURS[name].__match_args__ == THEIRS[name].__match_args__
        for other, their_other in made:
            assert (ours == other) == (theirs == their_other)
            assert (hash(ours) == hash(other)) == (hash(theirs) == hash(their_other))


def test_what_is_frozen_stays():
    for name, made in OURS.items():
        thing = objects(name)[-1][0]
        for each in fields(thing):
            with pytest.raises(FrozenInstanceError):
                setattr(thing, each.name, 1)
            with pytest.raises(FrozenInstanceError):
                delattr(thing, each.name)
        if fields(made):
            assert replace(thing, x=11).x == 11
    with pytest.raises(ValueError, match="below"):
        replace(OURS["Point"](1), y=-1)


@frozen()
class Kept:
    """A class that pickle finds."""

    x: int


def test_it_is_pickled():
    assert pickle.loads(pickle.dumps(Kept(3))) == Kept(3)


def test_dataclasses_and_frozen_classes_inherit_from_each_other():
    @dataclass(frozen=True)
    class Below(Kept):
        """As users write it."""

        y: int

    @frozen()
    class Again(Below):
        """And ours below theirs."""

        z: int

    assert repr(Again(1, 2, 3)).endswith("Again(x=1, y=2, z=3)")
    assert Again(1, 2, 3) == Again(1, 2, 3) != Again(1, 2, 4)
    assert Below(1, 2) == Below(1, 2) != Below(1, 3)
    assert len({Below(1, 2), Below(1, 2), Again(1, 2, 3)}) == 2
