"""Running programs in C: one call takes a whole train, and returns early only for what needs Python's hand.

That is a slice without a table, a table that must grow, or a chunk that is odd. Batches are handed over by Arrow's C
data interface, which copies nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import pyarrow as pa

from oop.kernels.checks import FLOAT64, INT64_MAX, Array
from oop.kernels.native.columns import WIDTHS, check_bytes
from oop.kernels.native.groups import GroupTable
from oop.kernels.native.library import INT64S, NULL, OK, check_code, ffi, from_buffer, lib, point
from oop.kernels.native.program_exchange import Exchange
from oop.kernels.native.program_guard import LentGuard
from oop.kernels.native.program_sessions import LentSessions
from oop.kernels.native.program_steps import write_step
from oop.kernels.native.program_texts import TextLists
from oop.kernels.scratch import lasting_array, new_array
from oop.kernels.signatures.programs import (
    NO_ROWS,
    GuardState,
    SessionTarget,
    SliceTarget,
    SliceTargets,
    TrainProgramBase,
)
from oop.kernels.signatures.sums import beyond_error
from oop.kernels.steps import Constant, Op, Output, UpdateKind

_ROWS = lib.OOP_ROWS
_TYPES = {"int": np.int64, "float": np.float64, "bool": np.uint8}
_ARRAY = ffi.sizeof("struct ArrowArray")
_MORE_LATE = 4_096


class TrainProgram(TrainProgramBase):
    def run_init(self) -> None:
        code = self.code
        self.counts = np.zeros(max(code.marks, 1), np.int64)
        self.late, self.broken = NO_ROWS, NO_ROWS
        self._late_rooms = NO_ROWS, NO_ROWS
        self._held: list[Any] = []
        self._under_way = self._was_odd = False
        self._run = run = ffi.new("oop_run *")
        ascends = any(step.op is Op.ASCEND and step.form for step in code.steps)
        self._lent_guard = LentGuard(run, code.floats, ascends)
        self._steps = ffi.new("oop_step[]", max(len(code.steps), 1))
        for made, step in zip(self._steps, code.steps, strict=False):
            self._held.append(write_step(made, step))
        self._moments, self._room_for_rows = np.zeros(0), NO_ROWS
        self._has_moments = any(u.kind in (UpdateKind.MOMENTS, UpdateKind.WHOLE_MOMENTS) for u in code.updates)
        self._registers = ffi.new("oop_register[]", code.registers)
        self._make_registers()
        self._texts = TextLists(run, code, self._registers)
        self._updates = ffi.new("oop_update[]", max(len(code.updates), 1))
        for made, update in zip(self._updates, code.updates, strict=False):
            made.kind, made.value, made.by, made.array = int(update.kind), update.value, update.by, update.array
            if update.loops is not None:
                made.loop = ffi.cast("oop_user_loop", update.loops.address)
        self._keys = ffi.new("int32_t[]", [*code.keys, code.slot])
        self._targets = ffi.new("oop_target[]", lib.OOP_TARGETS)
        self._each_target = list(self._targets[0 : lib.OOP_TARGETS])
        self._known: list[SliceTarget] = []
        self._version = -1
        self._batches = ffi.new("struct ArrowArray[]", 1)
        self._address, self._room = int(ffi.cast("uintptr_t", self._batches)), 1
        run.steps, run.step_count = self._steps, len(code.steps)
        run.registers = self._registers
        run.updates, run.update_count = self._updates, len(code.updates)
        run.keys, run.slot = self._keys, code.slot
        run.codes = self._array(lib.OOP_KEYS * _ROWS, np.int32)
        run.scratch, run.counted = self._array(11 * _ROWS, np.int64), self._array(max(code.marks, 1), np.int64)
        run.counts, run.mark_count = point(self.counts), code.marks
        run.targets, run.batches = self._targets, self._batches
        self._exchange = Exchange(run, code, self.shard, self.shards)
        run.distinct = code.distinct
        self._sessions = None if code.sessions is None else LentSessions(code.sessions)
        if self._sessions is not None:
            run.sessions = self._sessions.struct
        self._outputs = ffi.new("oop_output[]", max(len(code.outputs or ()), 1))
        for made, output in zip(self._outputs, code.outputs or (), strict=False):
            made.number = output.register

    def _make_registers(self) -> None:
        """Give every register room for a chunk, and fill constants."""
        rooms = np.zeros((self.code.registers, _ROWS + 1), np.int64)
        valid = np.ones((self.code.registers, _ROWS), np.uint8)
        self._held += [rooms, valid]
        for number, register in enumerate(self._registers):
            register.room = from_buffer("uint8_t[]", rooms[number].view(np.uint8))
            register.valid_room = from_buffer("uint8_t[]", valid[number])
            register.data, register.width = register.room, 8
        for constant in self.code.constants:
            self._fill(constant, rooms[constant.register], valid[constant.register])
        for key, kind in zip(self.code.keys, self.code.kinds, strict=True):
            self._registers[key].is_float = kind == "float"
            self._registers[key].width = WIDTHS[kind]

    def _fill(self, constant: Constant, room: Array, valid: Array) -> None:
        register = self._registers[constant.register]
        register.width = 1 if constant.kind == "bool" else 8
        if constant.value is None:
            valid[:] = 0
            register.valid = register.valid_room
        else:
            room.view(_TYPES[constant.kind])[:_ROWS] = constant.value

    def _array(self, length: int, dtype: Any) -> Any:
        made = np.zeros(length, dtype)
        self._held.append(made)
        return point(made)

    @property
    def nbytes(self) -> int:
        held = sum(held.nbytes for held in self._held if isinstance(held, np.ndarray))
        return held + self._texts.nbytes + self._room * _ARRAY

    def start(
        self,
        batches: Sequence[pa.RecordBatch],
        guard: GuardState,
        targets: SliceTargets,
        first: int = 0,
        end: int | None = None,
    ) -> None:
        run, count = self._run, len(batches)
        self.guard, self.targets, self._under_way = guard, targets, True
        if count > self._room:
            self._batches = ffi.new("struct ArrowArray[]", count)
            self._address, self._room = int(ffi.cast("uintptr_t", self._batches)), count
            run.batches = self._batches
        lib.oop_begin_train(run)
        if self.code.outputs is not None:
            self._make_room_for_rows(sum(map(len, batches)), self.code.outputs)
        address = self._address
        for batch in batches:
            batch._export_to_c(address)
            address += _ARRAY
            run.batch_count += 1  # now, so that an interrupt leaves nothing that is not given back
        self._point_promises(guard)
        if targets.version != self._version:
            self._forget_targets()
        self._first, run.end = first, INT64_MAX if end is None else end
        if self.code.shard is not None:
            self._exchange.begin((sum(map(len, batches)) if end is None else end) - first)

    def _make_room_for_rows(self, rows: int, outputs: Sequence[Output]) -> None:
        """Make room for the rows of a train that are handed out. Computed columns live on in batches, so their arrays
        are new ones."""
        run = self._run
        if rows >= len(self._room_for_rows):  # one is more than none, so that there always is an address
            self._room_for_rows = np.empty(max(2 * len(self._room_for_rows), rows + 1), np.int64)
            run.kept = point(self._room_for_rows)
        # of a dedup, half the rows may come through or fewer, whose columns are copied in the end
        made = new_array if self.code.distinct else lasting_array
        self._made = [(made(rows, _TYPES[output.kind]), new_array(rows, np.uint8)) for output in outputs]
        for made, (data, valid) in zip(self._outputs, self._made, strict=False):
            made.data, made.valid, made.has_nulls = from_buffer("uint8_t[]", data.view(np.uint8)), point(valid), 0
        run.outputs, run.output_count = self._outputs, len(outputs)
        self._train_rows = rows
        run.kept_count, run.whole = 0, 1

    def _point_promises(self, guard: GuardState) -> None:
        run = self._run
        run.promises = len(guard.places)
        if run.promises:
            run.places = from_buffer(INT64S, guard.places)
            if guard.bounds.dtype == FLOAT64:
                run.bounds, run.bounds_float = NULL, point(guard.bounds)
            else:
                run.bounds, run.bounds_float = point(guard.bounds), NULL

    def _forget_targets(self) -> None:
        """Let the targets be asked for again, which may have other arrays now, or be other ones."""
        run, targets = self._run, self.targets
        self._known.clear()
        run.target_count = run.last = 0
        run.generation += 1
        run.shift, run.key_count = targets.shift, len(self.code.keys) + targets.slotted
        self._version = targets.version

    def go_on(self) -> tuple[int, int] | None:
        run = self._run
        self._lent_guard.read(self.guard)
        if self._was_odd:
            self._was_odd = False
            self._look_at_targets()
        if self._first and run.done < self._first:
            lib.oop_pass_rows(run, self._first)
        while (code := lib.oop_run_program(run)) != OK:
            if code == lib.OOP_TEXT_FULL:
                self._texts.make_more_bytes()
            elif code == lib.OOP_TEXTS_FULL:
                self._texts.make_more_room()
            elif code == lib.OOP_LATE_FULL:
                self._make_late_room()
            elif code == lib.OOP_ODD or (code == lib.OOP_SPREAD and not self._widen()):
                first, rows = run.done, run.rows
                lib.oop_skip_chunk(run)
                self._lent_guard.write(self.guard)
                self._settle()  # whoever takes these rows must know all groups
                self._was_odd = True
                return first, first + rows
            else:
                self._make_way(code)
        self._lent_guard.write(self.guard)
        if self.code.outputs is not None:
            self._hand_out()
        return None

    def skip_rest(self) -> None:
        self._run.batch, self._run.row = self._run.batch_count, 0

    def take_sent(self, senders: Sequence[TrainProgramBase]) -> None:
        run = self._run
        self._look_at_targets()
        runs = self._exchange.senders([sender._run for sender in senders if isinstance(sender, TrainProgram)])
        while (code := lib.oop_take_sent(run, runs)) != OK:
            if code == lib.OOP_SPREAD and not self._widen():
                run.take_most = lib.OOP_TARGETS
            else:
                self._make_way(code)

    def _look_at_targets(self) -> None:
        """Forget targets that somebody else has changed: the rows of an odd chunk come to them another way."""
        if self.targets.version != self._version:
            self._settle()
            self._forget_targets()

    def _make_way(self, code: int) -> None:
        """Let the targets have what rows need to get into them."""
        if code == lib.OOP_NO_TARGET:
            self._add_target(self._run.needed)
        elif code in (lib.OOP_FULL, lib.OOP_FULL_BYTES, lib.OOP_NO_NULLS):
            self._change_table(code)
        elif code == lib.OOP_SESSIONS_FULL:
            self._make_session_room()
        elif code == lib.OOP_SUM_OUTSIDE:
            raise beyond_error()
        elif code == lib.OOP_USER_FAILED:
            self._fail_again()
        elif code != lib.OOP_SPREAD:
            check_bytes(code)
            check_code(code)

    def _fail_again(self) -> None:
        """Let a user's function have the row that it refused once more, which raises its error."""
        run = self._run
        update = self.code.updates[run.failed - run.updates]
        assert update.loops is not None
        arrays = self._known[run.needed].arrays()[update.array :]
        update.loops.fail_again(np.array(list(run.failed_values), np.int64), arrays, run.failed_group)

    def _change_table(self, code: int) -> None:
        """Let a table of keys have what it lacks."""
        run = self._run
        target = self._known[run.needed]
        table = target.texts[run.column] if run.is_text else target.codes
        assert isinstance(table, GroupTable)
        if code == lib.OOP_FULL:
            table.make_more_room()
            self._point_target(run.needed)
        elif code == lib.OOP_FULL_BYTES:
            table.make_more_bytes(0, run.length)
        else:
            table.hold_nulls(0 if run.is_text else run.column)

    def _widen(self) -> bool:
        self._settle()
        wider = self.targets.widen()
        if wider:
            self._forget_targets()
        return wider

    def _add_target(self, number: int) -> None:
        run = self._run
        if run.target_count == lib.OOP_TARGETS:
            shift = run.shift
            self._settle()
            self._forget_targets()
            if run.shift != shift:
                return  # slices have become wider, so the chunk asks for another one
        target = self.targets.target(number)
        place = run.target_count
        self._known.append(target)
        made = self._each_target[place]
        made.number, made.rows, made.known = number, 0, len(target.codes)
        if self._sessions is not None:
            self._sessions.lend(cast(SessionTarget, target))
        self._point_target(place)
        run.target_count = place + 1
        self._version = self.targets.version

    def _point_target(self, place: int) -> None:
        target, made = self._known[place], self._each_target[place]
        codes = target.codes
        assert isinstance(codes, GroupTable)
        made.keys = codes.table
        for key, text in target.texts.items():
            assert isinstance(text, GroupTable)
            made.texts[key] = text.table
        room = codes.room
        if self._sessions is None:
            target.make_room(room)
        else:  # aggregates are of sessions, which have room of their own
            room = len(cast(SessionTarget, target).sessions)
        if self._has_moments and len(self._moments) < 4 * room:
            self._moments = np.zeros(4 * room)
            self._run.moments = point(self._moments)
        for i, array in enumerate(target.arrays()):
            made.arrays[i] = from_buffer("uint8_t[]", array)

    def _make_session_room(self) -> None:
        assert self._sessions is not None
        self._sessions.make_room(cast(SessionTarget, self._known[0]))
        self._point_target(0)

    def _make_late_room(self) -> None:
        run = self._run
        room, count = max(2 * run.late_room, _MORE_LATE), run.late_count
        late, broken = (np.concatenate([held[:count], np.zeros(room - count, np.int64)]) for held in self._late_rooms)
        self._late_rooms = late, broken
        run.late, run.broken, run.late_room = point(late), point(broken), room

    def _settle(self) -> None:
        """Tell the targets what they took."""
        if self._sessions is not None:
            self._sessions.settle()
        numbers, rows = [], []
        for target in self._each_target[: self._run.target_count]:
            count = target.rows
            if count:
                numbers.append(target.number)
                rows.append(count)
                target.rows = 0
        if numbers:
            self.targets.took(numbers, rows)

    def finish(self) -> None:
        run = self._run
        if not self._under_way:
            self.late = self.broken = NO_ROWS
            return
        self._under_way = False
        lib.oop_release_batches(run.batches, run.batch_count)
        run.batch_count = 0
        self._texts.finish()
        late = run.late_count
        if late:
            numbers, broken = self._late_rooms
            self.late = numbers[:late].copy()
            self.broken = broken[:late].view(np.float64 if self.code.floats else np.int64).copy()
        else:
            self.late = self.broken = NO_ROWS
        self._settle()
        # if slices have become wider, which `took` may do, targets are asked for again
        self._version = self.targets.version if self.targets.shift == run.shift else -1

    def _hand_out(self) -> None:
        run = self._run
        rows, made, self._made = run.kept_count, self._made, []
        self.kept = None
        if not run.whole or rows < self._train_rows:
            self.kept = np.arange(rows) if run.whole else self._room_for_rows[:rows].copy()
        self.columns = []
        for output, (data, valid) in zip(self._outputs, made, strict=False):
            there = valid[:rows].astype(np.bool_) if output.has_nulls else None
            values = data[:rows]
            if self.code.distinct:
                values = lasting_array(rows, data.dtype)
                values[:] = data[:rows]
            self.columns.append((values, None if there is None or there.all() else there))
