"""Judges: which rows of a batch are late, as their policy has it.

Idea. A policy names its criterion (`oop.punctuation.policy_fields.Judgement`) and runs as an executable specification,
a row at a time. A judge applies it to whole batches. A judge with a kernel works on the state of the running policy, so
that both can take turns: the greatest value so far (`by_greatest.py`), the n + 1 greatest (`by_rank.py`), or either of
them for each group (`by_group.py`).

Way in. Read `judge.py`, then `by_greatest.py`. `row_by_row.py` asks the specification, and serves every policy.

How to add a judgement for which there is a new kernel: a value of `Judgement`, a judge here that derives from `Judge`,
and its line in the table below. A policy that needs no kernel needs nothing here.
"""

from __future__ import annotations

from oop.operators.source.judges.by_greatest import ByGreatest
from oop.operators.source.judges.by_group import ByGreatestOfGroup, ByRankOfGroup
from oop.operators.source.judges.by_rank import ByRank
from oop.operators.source.judges.judge import Judge
from oop.operators.source.judges.row_by_row import RowByRow
from oop.punctuation.policy_fields import Judgement
from oop.punctuation.progress import Progress

_ALONE_AND_BY_GROUP: dict[Judgement, tuple[type[Judge], type[Judge]]] = {
    Judgement.GREATEST: (ByGreatest, ByGreatestOfGroup),
    Judgement.RANK: (ByRank, ByRankOfGroup),
    Judgement.EACH: (RowByRow, RowByRow),
}


def judge_of(progress: Progress) -> Judge:
    """The judge for a running policy, which says which rows are late.

    >>> import numpy as np, oop
    >>> judge = judge_of(oop.slack(3).start("ts"))
    >>> judge.bounds(np.array([7, 5, 3]), None)[1:].tolist()
    [4, 4]
    """
    alone, by_group = _ALONE_AND_BY_GROUP[progress.policy.judgement]
    return (by_group if progress.columns else alone)(progress)
