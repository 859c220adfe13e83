"""Frontiers, ports and gates without their linear case: what that has to be equal to."""

from oop.operators.core.ports import Ports
from oop.punctuation import Frontier, Gate


class GeneralFrontier(Frontier):
    """Takes every promise the general way."""

    __slots__ = ()

    def _find_rising(self):
        self.rising = None


class GeneralPorts(Ports):
    def __init__(self, crossing, context):
        super().__init__(crossing, context)
        self.frontiers = [GeneralFrontier() for _ in context.inputs]
        self.out = GeneralFrontier()
        self._images = {}


class GeneralGate(Gate):
    def __init__(self, interests=None):
        super().__init__(interests)
        self.passed, self.held = GeneralFrontier(), GeneralFrontier()
        self._known = [GeneralFrontier() for _ in self._known]

    def passes(self, promise):
        return bool(list(self.through([promise])))

    def _images(self, promise):
        each = zip(self.interests, self._known, strict=True)
        return [(known, image) for interest, known in each for image in interest.images(promise)]

    def helps(self, promise):
        return any(not known.covers(image) for known, image in self._images(promise))

    def _take(self, promise):
        new = [known.advance(image) for known, image in self._images(promise)]
        return any(new) and self.passed.advance(promise)
