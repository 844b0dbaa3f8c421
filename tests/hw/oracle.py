"""When each unit fires, what it pops and what it writes: a second, plain reading of the rules.

An oracle is called once a cycle with the heads that can be seen (None where there is none) and the
rooms; it returns the ports that are popped and the tokens that are written.  `replay` compares it
with what the RTL did in every cycle.
"""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from fuseflow.samml.graph import Graph
from fuseflow.samml.tokens import Token
from fuseflow.samml.units import flatten
from tests.hw.bench import Run

Heads = Mapping[str, Token | None]
Rooms = Mapping[str, bool]
Action = tuple[set[str], dict[str, Token]]
Oracle = Callable[[int, Heads, Rooms], Action]

IDLE: Action = (set(), {})


def replay(graph: Graph, run: Run, oracles: Mapping[str, Oracle]) -> None:
    """Assert that units popped and issued exactly as their oracles say."""
    units = flatten(graph)
    written: dict[str, list[Token]] = {edge.name: [] for edge in units.edges}
    taken: dict[str, int] = {edge.name: 0 for edge in units.edges}
    length = len(next(iter(run.edges.values())).room)
    popped = {name: set(trace.pops) for name, trace in run.edges.items()}
    issued = {name: set(trace.issues) for name, trace in run.edges.items()}
    for t in range(length):
        for unit in units.units:
            if unit.name not in oracles:
                continue
            names = {
                p: units.edges[k].name for p, k in zip(unit.unit.reads, unit.reads, strict=True)
            }
            heads: dict[str, Token | None] = {}
            for port, name in names.items():
                trace = run.edges[name]
                heads[port] = trace.tokens[taken[name]] if trace.valid[t] else None
            outs = {
                s: [units.edges[k].name for k in ks]
                for s, ks in zip(unit.unit.writes, unit.writes, strict=True)
            }
            rooms = {s: all(run.edges[n].room[t] for n in ns) for s, ns in outs.items()}
            pops, writes = oracles[unit.name](t, heads, rooms)
            for port, name in names.items():
                seen = t in popped[name]
                assert seen == (port in pops), f"cycle {t}: {name} popped {seen}, {heads}, {rooms}"
                taken[name] += seen
            for stream, edges in outs.items():
                for name in edges:
                    seen = t in issued[name]
                    assert seen == (stream in writes), f"cycle {t}: {name} issued {seen}, {heads}"
                    if seen:
                        written[name].append(writes[stream])
    for unit in units.units:
        if unit.name in oracles:
            for ks in unit.writes:
                for k in ks:
                    name = units.edges[k].name
                    assert run.edges[name].tokens == written[name], name


def simple(rule: Callable[[Mapping[str, Token]], tuple[set[str], dict[str, Token]]]) -> Oracle:
    """Make the oracle of a unit that needs every head, and room for what it writes."""

    def step(_t: int, heads: Heads, rooms: Rooms) -> Action:
        if any(head is None for head in heads.values()):
            return IDLE
        pops, writes = rule(heads)  # type: ignore[arg-type]
        return (pops, writes) if all(rooms[name] for name in writes) else IDLE

    return step


class Iterate:
    """A scan: one child of the head per firing, popped with the last."""

    def __init__(self, port: str, children: Callable[[Any], Sequence[tuple[Any, ...]]]) -> None:
        self.port, self.children, self.at = port, children, 0

    def __call__(self, t: int, heads: Heads, rooms: Rooms) -> Action:
        head = heads[self.port]
        if head is None or not rooms["out"]:
            return IDLE
        found = self.children(head.payload) if head.empty == 0 else ()
        if not found:
            return {self.port}, {"out": Token(None, head.empty + 1, head.close + 1)}
        child = found[self.at]
        if self.at + 1 < len(found):
            self.at += 1
            return set(), {"out": Token(child, 0, 0)}
        self.at = 0
        return {self.port}, {"out": Token(child, 0, head.close + 1)}


class Hold:
    """The holder, as DESIGN tells it: emit first, then the step."""

    def __init__(self) -> None:
        self.held: Token | None = None
        self.complete = False

    def emit(self, room: bool) -> Token | None:
        if self.held and self.complete and room:
            out, self.held = self.held, None
            return out
        return None

    @property
    def incomplete(self) -> bool:
        return self.held is not None and not self.complete

    def insert(self, token: Token, complete: bool, room: bool) -> tuple[bool, Token | None]:
        """Return whether it could, and what was pushed out."""
        if self.held and (self.complete or not room):
            return False, None
        out, self.held, self.complete = self.held, token, complete
        return True, out

    def finish(self, close: int) -> None:
        assert self.held
        self.held, self.complete = self.held._replace(close=close), True


class Intersect:
    """Merge steps with hold-back."""

    def __init__(self) -> None:
        self.hold = Hold()
        self.ended = {"left": False, "right": False}

    def __call__(self, t: int, heads: Heads, rooms: Rooms) -> Action:
        out = self.hold.emit(rooms["out"])
        pops: set[str] = set()
        if all(self.ended[side] or heads[side] for side in self.ended):
            pops, pushed = self.step(heads, rooms["out"] and out is None)
            out = out or pushed
        return pops, {"out": out} if out else {}

    def step(self, heads: Heads, room: bool) -> tuple[set[str], Token | None]:
        pops, element, match, ended = merge(self.ended, heads)
        if match is None and not (all(ended.values()) and not self.hold.incomplete):
            if all(ended.values()):
                self.hold.finish(element.close)
                ended = dict.fromkeys(ended, False)
            self.ended = ended
            return pops, None
        fits, pushed = self.hold.insert(element, all(ended.values()), room)
        if not fits:
            return set(), None
        self.ended = dict.fromkeys(ended, False) if all(ended.values()) else ended
        return pops, pushed


def merge(before: Mapping[str, bool], heads: Heads) -> tuple[set[str], Token, Any, dict[str, bool]]:
    """One merge step: what is popped, the intersection's token, its match, who has ended."""
    ended = dict(before)
    alive = {side: heads[side] for side in ended if not ended[side]}
    deep = [head for head in alive.values() if head and head.empty >= 2]
    if deep:
        return (
            set(alive),
            Token(None, deep[0].empty, deep[0].close),
            None,
            dict.fromkeys(ended, True),
        )
    crds = {side: head.payload[0] for side, head in alive.items() if head and head.empty == 0}
    least = min(crds.values(), default=None)
    pops = {side for side, head in alive.items() if head and head.empty == 1}
    pops |= {side for side, crd in crds.items() if crd == least}
    close = 0
    for side in pops:
        head = alive[side]
        assert head
        if head.close >= 1:
            ended[side] = True
            close = head.close
    close = close if all(ended.values()) else 0
    winners = [side for side, crd in crds.items() if crd == least]
    if len(winners) == 2:
        left, right = alive["left"], alive["right"]
        assert left is not None
        assert right is not None
        payload = left.payload + right.payload[1:]
        return pops, Token(payload, 0, close), payload, ended
    return pops, Token(None, 1, close), None, ended


class Union:
    """Merge steps that all write."""

    def __init__(self, absent: Mapping[str, tuple[Any, ...]]) -> None:
        self.absent = absent
        self.ended = {"left": False, "right": False}

    def __call__(self, t: int, heads: Heads, rooms: Rooms) -> Action:
        if not rooms["out"] or not all(self.ended[side] or heads[side] for side in self.ended):
            return IDLE
        pops, element, _, ended = merge(self.ended, heads)
        present = {side: head.payload for side in pops if (head := heads[side]) and head.empty == 0}
        if present:
            crd = next(iter(present.values()))[0]
            rides = [present.get(s, (0, *self.absent[s]))[1:] for s in ("left", "right")]
            element = Token((crd, *rides[0], *rides[1]), 0, element.close)
        self.ended = dict.fromkeys(ended, False) if all(ended.values()) else ended
        return pops, {"out": element}


class Filter:
    """The filter step; `judge` says of the heads: popped ports, token or None to pop only, drop."""

    def __init__(self, stream: str, height: int, judge: Callable[[Heads], Any]) -> None:
        self.stream, self.height, self.judge, self.hold = stream, height, judge, Hold()

    def __call__(self, t: int, heads: Heads, rooms: Rooms) -> Action:
        room = rooms[self.stream]
        out = self.hold.emit(room)
        pops: set[str] = set()
        found = self.judge(heads)
        if found:
            pops, token, drop = found
            if token is not None:
                fits, pushed = self.step(token, drop, room and out is None)
                pops, out = (pops, out or pushed) if fits else (set(), out)
        return pops, {self.stream: out} if out else {}

    def step(self, token: Token, drop: bool, room: bool) -> tuple[bool, Token | None]:
        if not drop:
            return self.hold.insert(token, token.close != self.height, room)
        if token.close == self.height:
            return True, None
        if self.hold.incomplete:
            self.hold.finish(token.close)
            return True, None
        return self.hold.insert(Token(None, self.height + 1, token.close), True, room)


def wrap(value: int) -> int:
    """Reduce to int32."""
    return (value + 2**31) % 2**32 - 2**31


def wrapping_sum(words: Sequence[int]) -> int:
    """Sum int32 words; each sum wraps."""
    return wrap(sum(words))


class Reduce:
    """A fold of a whole fiber at its end; `term` makes what is folded of the heads' words."""

    def __init__(
        self,
        total: Callable[[Sequence[int]], int] = wrapping_sum,
        term: Callable[..., int] = int,
    ) -> None:
        self.total, self.term = total, term
        self.words: list[int] = []

    def __call__(self, t: int, heads: Heads, rooms: Rooms) -> Action:
        seen = [head for head in heads.values() if head is not None]
        if len(seen) < len(heads) or (seen[0].close and not rooms["out"]):
            return IDLE
        head, pops = seen[0], set(heads)
        if head.empty > 1:
            return pops, {"out": Token(None, head.empty - 1, head.close - 1)}
        if head.empty == 0:
            self.words.append(self.term(*(each.payload[0] for each in seen)))
        if not head.close:
            return pops, {}
        words, self.words = self.words, []
        return pops, {"out": Token((self.total(words),), 0, head.close - 1)}


class Accumulate:
    """Fill and emit of one accumulate; `total` folds the words at one coordinate."""

    def __init__(
        self,
        kept: int,
        banks: int,
        adder: int,
        dense: int | None = None,
        total: Callable[[Sequence[int]], int] = wrapping_sum,
    ) -> None:
        self.kept, self.banks, self.adder, self.dense = kept, banks, adder, dense
        self.total = total
        self.begun, self.released, self.release = 0, 0, -1
        self.row: dict[Any, list[int]] = {}
        self.last: dict[Any, int] = {}
        self.in_row = False
        self.rows: deque[dict[Any, list[int]]] = deque()
        self.outputs: deque[Action] = deque()

    def fill(self, t: int, heads: Heads, rooms: Rooms) -> Action:
        if any(head is None for head in heads.values()):
            return IDLE
        crd, val, outer = heads["crd"], heads["val"], heads.get("outer")
        assert crd is not None
        assert val is not None
        if not self.in_row and self.begun - self.released + (self.release == t) >= self.banks:
            return IDLE
        if crd.empty == 0:
            key = (outer.payload[0], crd.payload[0]) if outer else (crd.payload[0],)
            if key in self.last and t < self.last[key] + self.adder:
                return IDLE
            self.last[key] = t
            self.row.setdefault(key, []).append(val.payload[0])
        if not self.in_row:
            self.begun += 1
        pops = {"crd", "val"} | ({"outer"} if outer and crd.close else set())
        above = self.kept + 1
        self.in_row = crd.close < above
        if self.in_row:
            return pops, {}
        self.rows.append(self.row)
        self.row, self.last = {}, {}
        deep = crd.empty - above if crd.empty > above else 0
        return pops, {"row": Token(None if deep else (), deep, crd.close - above)}

    def emit(self, t: int, heads: Heads, rooms: Rooms) -> Action:
        head = heads["row"]
        if head is None:
            return IDLE
        if not self.outputs:
            self.outputs.extend(self.expand(self.rows.popleft(), head))
        pops, writes = self.outputs[0]
        if not all(rooms[name] for name in writes):
            return IDLE
        self.outputs.popleft()
        if pops:
            self.released, self.release = self.released + 1, t
        return pops, writes

    def expand(self, row: dict[Any, list[int]], head: Token) -> list[Action]:
        """All outputs of one row."""
        kept, close = self.kept, head.close
        if self.dense is not None and head.empty == 0:
            row = {(k,): row.get((k,), []) for k in range(self.dense)}
        if not row:
            writes = {"out": Token(None, head.empty + kept, close + kept)}
            if kept == 2:
                writes["outer"] = Token(None, head.empty + 1, close + 1)
            return [({"row"}, writes)]
        keys = sorted(row)
        actions: list[Action] = []
        for key, after in zip(keys, [*keys[1:], None], strict=True):
            last = after is None
            ends = last or (kept == 2 and after[0] != key[0])
            inner = close + kept if last else int(ends and kept == 2)
            writes = {"out": Token((key[-1], self.total(row[key])), 0, inner)}
            if kept == 2 and ends:
                writes["outer"] = Token((key[0],), 0, close + 1 if last else 0)
            actions.append(({"row"} if last else set(), writes))
        return actions
