"""Random models: straight-line programs of what people write, in ranges where all is defined."""

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.nn import functional

from tests.torch.models import stored

Tensor = torch.Tensor
Step = tuple[str, Callable[..., Tensor], tuple[int, ...]]

LAYOUTS = ("strided", "strided", "COO", "CSR", "CSC", "BSR")
SIZES = (1, 2, 3, 3, 4, 4, 6, 6)
LIMIT = 96
"""No tensor has more elements."""


class Straight(torch.nn.Module):
    """Runs steps, each on what inputs, parameters and earlier steps are."""

    def __init__(self, steps: list[Step], state: dict[str, Tensor], results: list[int]) -> None:
        super().__init__()
        self.steps, self.results, self.known = steps, results, tuple(state)
        for name, data in state.items():
            if data.dtype.is_floating_point and data.layout == torch.strided:
                self.register_parameter(name, torch.nn.Parameter(data, requires_grad=False))
            else:
                self.register_buffer(name, data)

    def forward(self, *tensors: Tensor) -> Any:
        values = [*tensors, *(getattr(self, name) for name in self.known)]
        for _, function, places in self.steps:
            values.append(function(*(values[place] for place in places)))
        found = tuple(values[place] for place in self.results)
        return found[0] if len(found) == 1 else found


@dataclass
class Sample:
    """A random model with inputs, and its results in float64 (integers are exact)."""

    seed: int
    model: Straight
    inputs: tuple[Tensor, ...]
    expected: tuple[Tensor, ...]
    formats: dict[str, str]
    value: str
    text: str


@dataclass
class _Draft:
    """A program in the making: its values in float64 tell which steps are defined."""

    rng: random.Random
    whole: bool
    exact: list[Tensor] = field(default_factory=list[Tensor])
    sparse: set[int] = field(default_factory=set[int])
    steps: list[Step] = field(default_factory=list[Step])

    def pick(self, test: Callable[[Tensor], bool] = lambda _: True) -> int | None:
        """Choose a value, a late one rather than an early one."""
        found = [n for n, value in enumerate(self.exact) if test(value)]
        if not found:
            return None
        return self.rng.choice(found[-3:] if self.rng.random() < 0.7 else found)

    def add(self, name: str, function: Callable[..., Tensor], *places: int) -> bool:
        """Take a step, unless it makes what is too large."""
        made = function(*(self.exact[place] for place in places))
        if not 0 < made.numel() <= LIMIT or made.ndim > 4:
            return False
        if not bool(torch.isfinite(made).all()) or float(made.abs().max()) > 200:
            return False
        self.steps.append((name, function, places))
        self.exact.append(made)
        return True


def product(draft: _Draft) -> bool:
    """Multiply matrices, batches of them, and vectors; transposed where only that fits."""
    left = draft.pick(lambda x: x.ndim >= 1)
    if left is None:
        return False
    a = draft.exact[left]
    right = draft.pick(lambda x: x.ndim in (1, 2) and x.shape[0] == a.shape[-1])
    if right is not None and a.ndim <= 3:
        return draft.add("matmul", torch.matmul, left, right)
    right = draft.pick(lambda x: x.ndim == 2 and x.shape[1] == a.shape[-1])
    if right is not None:
        if draft.whole:
            return draft.add("matmul.T", lambda x, y: x @ y.T, left, right)
        return draft.add("linear", functional.linear, left, right)
    right = draft.pick(lambda x: x.ndim == 3 == a.ndim and x.shape[0] == a.shape[0])
    if right is not None and draft.exact[right].shape[1] == a.shape[2]:
        return draft.add("bmm", torch.bmm, left, right)
    return False


def outer(draft: _Draft) -> bool:
    """Sample a product, by a matrix that may be sparse."""
    left = draft.pick(lambda x: x.ndim == 2)
    if left is None:
        return False
    a = draft.exact[left]
    right = draft.pick(lambda x: x.ndim == 2 and x.shape[1] == a.shape[1])
    if right is None:
        return False
    shape = (a.shape[0], draft.exact[right].shape[0])
    pattern = draft.pick(lambda x: tuple(x.shape) == shape)
    if pattern is None:
        return draft.add("outer", lambda x, y: x @ y.T, left, right)
    return draft.add("sampled", lambda p, x, y: p * (x @ y.T), pattern, left, right)


BINARY: dict[str, Callable[..., Tensor]] = {
    "add": torch.add,
    "sub": torch.sub,
    "mul": torch.mul,
    "mul again": torch.mul,
    "maximum": torch.maximum,
    "minimum": torch.minimum,
    "alpha": lambda x, y: torch.add(x, y, alpha=2),
}


def _broadcast(a: Tensor, b: Tensor) -> bool:
    try:
        torch.broadcast_shapes(a.shape, b.shape)
    except RuntimeError:
        return False
    return True


def pairwise(draft: _Draft) -> bool:
    """Combine two tensors that broadcast; the two may be one."""
    left = draft.pick()
    assert left is not None
    a = draft.exact[left]
    right = draft.pick(lambda x: _broadcast(a, x))
    assert right is not None
    name = draft.rng.choice(list(BINARY))
    return draft.add(name, BINARY[name], left, right)


def divide(draft: _Draft) -> bool:
    """Divide, by what is not close to zero."""
    if draft.whole:
        return False
    left = draft.pick()
    assert left is not None
    a = draft.exact[left]
    right = draft.pick(lambda x: _broadcast(a, x) and float(x.abs().min()) > 0.3)
    if right is None:
        return draft.add("div abs", lambda x: x / (x.abs() + 1), left)
    return draft.add("div", torch.div, left, right)


UNARY: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": torch.relu,
    "neg": torch.neg,
    "abs": torch.abs,
    "square": lambda x: x * x,
    "twice": lambda x: 2 * x,
    "one less": lambda x: 1 - x,
    "clamp": lambda x: x.clamp(-1, 2),
}
REAL: dict[str, Callable[[Tensor], Tensor]] = {
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
    "gelu": functional.gelu,
    "silu": functional.silu,
    "power": lambda x: x**2,
    "half": lambda x: x / 2,
    "elu": functional.elu,
    "leaky": lambda x: functional.leaky_relu(x, 0.25),
    "1/(1+x^2)": lambda x: 1 / (1 + x * x),
    "sqrt": lambda x: torch.sqrt(x.abs() + 0.5),
    "log": lambda x: torch.log(x.abs() + 0.5),
    "rsqrt": lambda x: torch.rsqrt(x.abs() + 0.5),
    "log1p": lambda x: torch.log1p(x.abs()),
    "scaled": lambda x: x * 0.25 + 0.75,
    "softplus": functional.softplus,
}


def unary(draft: _Draft) -> bool:
    """Apply a function to every element."""
    place = draft.pick()
    assert place is not None
    known = UNARY if draft.whole else UNARY | REAL
    if not draft.whole and float(draft.exact[place].max()) < 3:
        known = known | {"exp": torch.exp, "expm1": torch.expm1}
    name = draft.rng.choice(list(known))
    return draft.add(name, known[name], place)


def _factors(rng: random.Random, count: int) -> tuple[int, ...]:
    sizes: list[int] = []
    while count > 1:
        size = rng.choice([n for n in range(2, count + 1) if count % n == 0])
        sizes.append(size)
        count //= size
    if rng.random() < 0.2:
        sizes.insert(rng.randrange(len(sizes) + 1), 1)
    return tuple(sizes)


def view(draft: _Draft) -> bool:
    """Take another view of one tensor."""
    rng = draft.rng
    place = draft.pick(lambda x: x.ndim >= 1)
    if place is None:
        return False
    x = draft.exact[place]
    mode = rng.randrange(x.ndim)
    size = x.shape[mode]
    kind = rng.choice(
        ("permute", "reshape", "flatten", "slice", "select", "unsqueeze", "squeeze", "expand",
         "chunk", "flip", "roll", "repeat", "split", "pad", "narrow")
    )  # fmt: skip
    match kind:
        case "permute":
            order = rng.sample(range(x.ndim), x.ndim)
            return draft.add(f"permute{order}", lambda t: t.permute(order), place)
        case "reshape":
            shape = _factors(rng, x.numel())
            return draft.add(f"reshape{shape}", lambda t: t.reshape(shape), place)
        case "flatten":
            return draft.add(f"flatten{mode}", lambda t: t.flatten(mode), place)
        case "slice":
            start, step = rng.randrange(size), rng.choice((1, 2, 3))
            stop = rng.randint(start + 1, size)
            key = (slice(None),) * mode + (slice(start, stop, step),)
            return draft.add(f"slice{mode}[{start}:{stop}:{step}]", lambda t: t[key], place)
        case "select":
            at = rng.randrange(-size, size)
            return draft.add(f"select{mode}[{at}]", lambda t: t.select(mode, at), place)
        case "unsqueeze":
            return draft.add(f"unsqueeze{mode}", lambda t: t.unsqueeze(mode), place)
        case "squeeze":
            return draft.add("squeeze", lambda t: t.squeeze(), place)
        case "expand":
            shape = (rng.choice((2, 3)), *x.shape)
            return draft.add(f"expand{shape}", lambda t: t.expand(shape), place)
        case "chunk":
            at = rng.choice((0, -1))
            return draft.add(f"chunk{mode}[{at}]", lambda t: t.chunk(2, mode)[at], place)
        case "split":
            width = rng.randint(1, size)
            return draft.add(f"split{mode}({width})", lambda t: t.split(width, mode)[-1], place)
        case "flip":
            return draft.add(f"flip{mode}", lambda t: t.flip(mode), place)
        case "roll":
            return draft.add(f"roll{mode}", lambda t: t.roll(1, mode), place)
        case "repeat":
            return draft.add(f"repeat{mode}", lambda t: torch.cat([t, t * 2, t], mode), place)
        case "pad":
            value = rng.choice((0, 0, 1))
            return draft.add(
                f"pad({value})", lambda t: functional.pad(t, (1, 2), value=value), place
            )
        case _:
            return draft.add(f"narrow{mode}", lambda t: t.narrow(mode, size - 1, 1), place)


def join(draft: _Draft) -> bool:
    """Stack tensors of one shape, or put them behind one another."""
    rng = draft.rng
    left = draft.pick(lambda x: x.ndim >= 1)
    if left is None:
        return False
    a = draft.exact[left]
    right = draft.pick(lambda x: x.shape == a.shape)
    assert right is not None
    mode = rng.randrange(a.ndim)
    if rng.random() < 0.5:
        return draft.add(f"cat{mode}", lambda x, y: torch.cat([x, y], mode), left, right)
    mode = rng.randrange(a.ndim + 1)
    return draft.add(f"stack{mode}", lambda x, y: torch.stack([x, y], mode), left, right)


def fold(draft: _Draft) -> bool:
    """Reduce one or several modes."""
    rng = draft.rng
    place = draft.pick(lambda x: x.ndim >= 1)
    if place is None:
        return False
    x = draft.exact[place]
    modes = tuple(sorted(rng.sample(range(x.ndim), rng.randint(1, x.ndim))))
    keep = rng.random() < 0.4
    known: dict[str, Callable[[Tensor], Tensor]] = {
        "sum": lambda t: t.sum(modes, keepdim=keep),
        "amax": lambda t: t.amax(modes, keepdim=keep),
        "amin": lambda t: t.amin(modes, keepdim=keep),
        "max": lambda t: t.max(modes[0], keepdim=keep).values,
        "total": torch.sum,
    }
    if not draft.whole:
        known |= {
            "mean": lambda t: t.mean(modes, keepdim=keep),
            "var": lambda t: t.var(modes, correction=0, keepdim=keep),
            "norm": lambda t: (t * t).sum(modes, keepdim=keep).add(0.25).sqrt(),
            "logsumexp": lambda t: t.logsumexp(modes, keepdim=keep),
        }
    name = rng.choice(list(known))
    return draft.add(f"{name}{modes}{'k' * keep}", known[name], place)


def layer(draft: _Draft) -> bool:
    """Normalise."""
    rng = draft.rng
    place = draft.pick(lambda x: x.ndim >= 1)
    if draft.whole or place is None:
        return False
    x = draft.exact[place]
    mode, width = rng.randrange(x.ndim), x.shape[-1]
    if rng.random() < 0.6:
        return draft.add(f"softmax{mode}", lambda t: t.softmax(mode), place)
    if rng.random() < 0.3:
        return draft.add(f"log_softmax{mode}", lambda t: t.log_softmax(mode), place)
    return draft.add("layernorm", lambda t: functional.layer_norm(t, (width,), eps=0.125), place)


def mask(draft: _Draft) -> bool:
    """Replace what a mask hides; the mask is a constant, or what is stored of another tensor."""
    rng = draft.rng
    place = draft.pick(lambda x: x.ndim >= 1)
    if place is None:
        return False
    x = draft.exact[place]
    fill = rng.choice((0, 0, -1, 2))
    if rng.random() < 0.5:
        bits = torch.rand(x.shape[-1], generator=torch.Generator().manual_seed(rng.randrange(99)))
        hidden = bits < 0.5
        if rng.random() < 0.4 and not draft.whole and not bool(hidden.all()):
            mode = x.ndim - 1
            return draft.add(
                "hidden softmax",
                lambda t: t.masked_fill(hidden, float("-inf")).softmax(mode),
                place,
            )
        return draft.add(f"masked_fill({fill})", lambda t: t.masked_fill(hidden, fill), place)
    other = draft.pick(lambda y: _broadcast(x, y))
    assert other is not None
    if rng.random() < 0.5:
        return draft.add(f"where({fill})", lambda t, m: torch.where(m != 0, t, fill), place, other)
    return draft.add("where", lambda t, m: torch.where(m == 0, t, m), place, other)


KINDS = (
    *(product,) * 5, outer, *(pairwise,) * 5, divide, *(unary,) * 5, *(view,) * 5, *(join,) * 2,
    *(fold,) * 3, *(layer,) * 2, *(mask,) * 2,
)  # fmt: skip


def _store(dense: Tensor, layout: str, blocks: tuple[int, int]) -> Tensor:
    return stored(dense, layout, blocks) if dense.ndim == 2 else dense


def _read(steps: list[Step], results: list[int], first: int) -> set[int]:
    """Return the values that the results follow from."""
    read = set(results)
    for number in range(len(steps) - 1, -1, -1):
        if first + number in read:
            read |= {*steps[number][2]}
    return read


def sample(seed: int) -> Sample:
    """Make a random model."""
    rng = random.Random(seed)
    value = rng.choice(("fp32", "fp32", "fp32", "bf16", "int32"))
    whole = value == "int32"
    kind = {"fp32": torch.float32, "bf16": torch.bfloat16, "int32": torch.int32}[value]
    draft = _Draft(rng, whole)
    sizes = [rng.choice(SIZES) for _ in range(3)]
    data: list[Tensor] = []
    generator = torch.Generator().manual_seed(seed)
    for _ in range(rng.randint(2, 5)):
        rank = rng.choice((0, 1, 2, 2, 2, 2, 3)) if data else 2
        shape = tuple(rng.choice(sizes) for _ in range(rank))
        dense = torch.randint(-8, 9, shape, generator=generator).double() / (1 if whole else 4)
        density = rng.choice((0.0, 0.2, 0.5, 1.0, 1.0, 1.0))
        dense = torch.where(torch.rand(shape, generator=generator) < density, dense, 0 * dense)
        if dense.ndim == 2 and rng.random() < 0.2:
            dense[rng.randrange(dense.shape[0])] = 0
        draft.exact.append(dense.long() if whole else dense)
        blocks = tuple(rng.choice([b for b in (1, 2, 3) if n % b == 0]) for n in shape)
        data.append(_store(dense.to(kind), rng.choice(LAYOUTS), blocks))  # pyright: ignore
    inputs = rng.randint(1, len(data))
    wanted = rng.randint(2, 9)
    for _ in range(200):
        if len(draft.steps) == wanted:
            break
        rng.choice(KINDS)(draft)
    first = len(data)
    results = [len(draft.exact) - 1]
    if rng.random() < 0.3:
        results.append(rng.randrange(first, len(draft.exact)))
    state = {f"w{n}": each for n, each in enumerate(data[inputs:])}
    read = _read(draft.steps, results, first)
    formats = {
        name: rng.choice(("CSR", "CSC", "DCSR", "dense"))
        for number, (name, each) in enumerate(state.items(), inputs)
        if number in read and each.ndim == 2 and each.layout == torch.strided
        if rng.random() < 0.4
    }
    lines = [
        f"{value} " + ", ".join(f"{tuple(each.shape)} {each.layout}" for each in data),
        f"inputs {inputs} formats {formats} results {results}",
        *(f"{first + n} = {name}{list(places)} {tuple(draft.exact[first + n].shape)}"
          for n, (name, _, places) in enumerate(draft.steps)),
    ]  # fmt: skip
    return Sample(
        seed,
        Straight(draft.steps, state, results),
        tuple(data[:inputs]),
        tuple(draft.exact[place] for place in results),
        formats,
        value,
        "\n".join(lines),
    )
