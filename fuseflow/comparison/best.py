"""The fewest cycles of a statement in any loop order and a choice of formats."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import permutations, product

from fuseflow.comparison.run import compile_kernel
from fuseflow.comparison.table import Kernel
from fuseflow.compiler import Access
from fuseflow.compiler.convert import in_loop_order
from fuseflow.samml.errors import FuseFlowError, SimulationError
from fuseflow.samml.formats import Format, LevelKind
from fuseflow.samml.image import TensorImage
from fuseflow.samml.units import flatten
from fuseflow.samml.values import ValueType
from fuseflow.tensor import Tensor


@dataclass
class Best:
    """The fastest variant so far.

    Attributes
    ----------
    cycles : int
    kernel : Kernel
        With its order and formats.
    """

    cycles: int
    kernel: Kernel


def find_best(kernel: Kernel, tensors: Sequence[Tensor], kind: ValueType, cycles: int) -> Best:
    """Search all loop orders, with every tensor stored in loop order, for the fewest cycles.

    Level kinds are those of the kernel, or dense ones above a compressed one (CSR); a vector may
    also be dense.

    Parameters
    ----------
    kernel : Kernel
        Every tensor occurs once.
    tensors : sequence of Tensor
        Its operands.
    kind : ValueType
    cycles : int
        What the kernel itself takes.
    """
    work = _Search(kernel, {tensor.name: tensor for tensor in tensors}, kind)
    best = Best(cycles, kernel)
    for variant in _variants(kernel):
        try:
            taken = work.cycles(variant, limit=best.cycles - 1)
        except FuseFlowError:
            # It cannot be compiled, or is not faster.
            continue
        if taken < best.cycles:
            best = Best(taken, variant)
    return best


@dataclass
class _Search:
    kernel: Kernel
    tensors: dict[str, Tensor]
    kind: ValueType
    stored: dict[tuple[str, Format], tuple[Tensor, TensorImage]] = field(
        default_factory=dict[tuple[str, Format], tuple[Tensor, TensorImage]]
    )

    def cycles(self, variant: Kernel, *, limit: int) -> int:
        """Return the cycles of a variant, if they do not exceed the limit."""
        from sim_models.cycle.simulate import simulate

        stored = [self._store(name, variant.formats[name]) for name in self.tensors]
        graph = compile_kernel(variant, [tensor for tensor, _ in stored], self.kind).graph
        target = variant.statement.target
        shape = self._shape(target)
        volume = variant.formats[target.tensor].volume(shape)
        declared = tuple(
            replace(each, positions=volume) if each.name == target.tensor else each
            for each in graph.tensors
        )
        result = simulate(
            flatten(replace(graph, tensors=declared)),
            {tensor.name: image for tensor, image in stored},
            {target.tensor: shape},
            digests=False,
            limit=limit,
        )
        if result.cycles > limit:
            raise SimulationError(f"more than {limit} cycles")
        return result.cycles

    def _store(self, name: str, form: Format) -> tuple[Tensor, TensorImage]:
        if (name, form) not in self.stored:
            tensor = self.tensors[name].convert(form)
            self.stored[name, form] = tensor, tensor.image()
        return self.stored[name, form]

    def _shape(self, target: Access) -> tuple[int, ...]:
        sizes: dict[str, int] = {}
        for name, indices in self.kernel.operands.items():
            sizes |= zip(indices, self.tensors[name].shape, strict=True)
        return tuple(sizes[index] for index in target.indices)


def _variants(kernel: Kernel) -> Iterator[Kernel]:
    statement = kernel.statement
    accesses = (statement.target, *statement.operands)
    choices = [_kinds(kernel.formats[access.tensor]) for access in accesses]
    for order in permutations(statement.indices):
        for kinds in product(*choices):
            formats = {
                access.tensor: in_loop_order(access, levels, order)
                for access, levels in zip(accesses, kinds, strict=True)
            }
            yield replace(kernel, order=order, formats=formats)


def _kinds(form: Format) -> list[tuple[LevelKind, ...]]:
    dense, compressed = LevelKind.DENSE, LevelKind.COMPRESSED
    choices = [form.levels]
    if form.rank == 1:
        choices += [(dense,), (compressed,)]
    elif form.rank:
        choices.append((dense,) * (form.rank - 1) + (compressed,))
    return list(dict.fromkeys(choices))
