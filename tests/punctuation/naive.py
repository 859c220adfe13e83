"""Policies once more, naively: from the list of all rows so far, each row looked at, nothing clever."""

from tests.punctuation.model import is_nan


def greatest_of(*bounds):
    return max((b for b in bounds if b is not None), default=None)


def behind(slack):
    """The bound of a list of values under slack by time."""
    return lambda values: max(values) - slack if values else None


def behind_rows(n):
    """Under slack by rows: the (n+1)-th greatest."""
    return lambda values: sorted(values, reverse=True)[n] if len(values) > n else None


def key(group):
    """A group as a dictionary finds it; of several columns it is a tuple."""
    if isinstance(group, tuple):
        return tuple(map(key, group))
    return "NaN" if is_nan(group) else group


def has_time(value):
    return value is not None and not is_nan(value)


def linear(rows, bound_of):
    """The bound before each row, and after all of them."""
    before, kept = [], []
    for value, _ in rows:
        before.append(bound_of(kept))
        if has_time(value) and (before[-1] is None or value >= before[-1]):
            kept.append(value)
    return before, bound_of(kept)


class Groups:
    """The rows of each active group since it became active, and the bound under which it may not fall."""

    def __init__(self, bound_of, groups, idle):
        self.bound_of, self.groups, self.idle = bound_of, groups, idle
        self.active = {key(g): [] for g in groups or ()}
        self.floor = {}
        self.rest = None
        self.seen = []

    def own(self, group):
        return greatest_of(self.bound_of(self.active[group]), self.floor.get(group))

    def take(self, value, group, floor):
        if group not in self.active:
            if self.groups is not None:
                return  # not one of the groups that there are
            self.active[group] = []
            self.floor[group] = greatest_of(floor, self.floor.get(group))
        self.active[group].append(value)
        self.seen.append(value)
        if self.idle is not None:
            for g in [g for g, values in self.active.items() if max(self.seen) - max(values) > self.idle]:
                self.floor[g] = self.own(g)
                del self.active[g]

    def advance_rest(self):
        owns = [self.own(g) for g in self.active]
        if (self.groups is not None or self.idle is not None) and owns and None not in owns:
            self.rest = greatest_of(self.rest, min(owns))


def grouped(rows, bound_of, groups=None, idle=None):
    """The bound before each row; then the groups' bounds and the rest's after all of them."""
    model, before = Groups(bound_of, groups, idle), []
    for value, group in rows:
        group = key(group)
        active = group in model.active
        bound = model.own(group) if active else greatest_of(model.rest, model.floor.get(group))
        before.append(bound)
        if has_time(value) and (bound is None or value >= bound):
            model.take(value, group, bound)
            model.advance_rest()
    return before, {g: model.own(g) for g in model.active}, model.rest


def ticks(events, every):
    """The events with the ticks left out that come before their time."""
    last = None
    for event in events:
        if isinstance(event, tuple):
            yield event
        elif last is None or event - last >= every:
            last = event
            yield event


def timer(events, every, lull, slack):
    """Events are rows and readings of the clock. The bound before each row, and after all of them."""
    before, kept, bound = [], [], None
    for event in ticks(events, every):
        if isinstance(event, tuple):
            before.append(bound)
            if has_time(event[0]):
                kept.append(event[0])
        else:
            bound = greatest_of(bound, behind(slack)(kept), event - lull)
    return before, bound


def timer_by(events, every, lull, slack, groups=None, idle=None):
    """As `timer`, by group: the bound before each row; then what is in force by group, and for the rest."""
    model, before = Groups(behind(slack), groups, idle), []
    clock, picture, rest = None, {}, None
    for event in ticks(events, every):
        if isinstance(event, tuple):
            value, group = event[0], key(event[1])
            bound = greatest_of(clock, picture.get(group, rest))
            before.append(bound)
            if has_time(value) and (bound is None or value >= bound):
                model.take(value, group, rest)
        else:
            clock = greatest_of(clock, event - lull)
            model.advance_rest()
            picture, rest = {g: model.own(g) for g in model.active}, model.rest
    return before, {g: greatest_of(clock, b) for g, b in picture.items()}, greatest_of(clock, rest)
