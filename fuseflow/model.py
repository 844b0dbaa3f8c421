"""Functions of MLIR modules as programs: what a ``.mlir`` file or a PyTorch model becomes.

>>> function = Function(read_mlir("model.mlir"))
>>> model = function.prepare({"arg0": matrix}, formats={"arg0": "CSR"}).compile("regions")
>>> model.run().outputs
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from fuseflow.api import Prepared, Program, prepare
from fuseflow.compiler.groups import fresh
from fuseflow.mlir.boundary import Coordinates, Data, Input
from fuseflow.mlir.derive import arguments_behind, derived
from fuseflow.mlir.link import Linked, link
from fuseflow.mlir.module import Array, Module, TensorType
from fuseflow.outcome import RunResult, VerifyResult
from fuseflow.samml.errors import LoweringError, TensorError
from fuseflow.samml.formats import Format, LevelKind
from fuseflow.samml.values import FP32, INT32, VALUE_TYPES, ValueType, value_type
from fuseflow.tensor import Tensor
from fuseflow.tensor.untyped import sparse

_FLOATS = {"f16": "fp16", "bf16": "bf16", "f32": "fp32", "f64": "fp32"}
_INTEGERS = {"i8": "int8", "i16": "int16", "i32": "int32", "i64": "int32"}


@dataclass(frozen=True, eq=False)
class Function:
    """A function to compile, with what is known of its arguments.

    Attributes
    ----------
    module : Module
    names : mapping of str to str
        From arguments, constants and results of the module to the names that a user knows.
    data : mapping of str to ndarray or Coordinates
        Of arguments, by the user's name.
    inputs : tuple of str
        The arguments that a call gives, in order, by the user's name; others are weights.
    results : tuple of str
        Names of the results, in order, each a different one.
    """

    module: Module
    names: Mapping[str, str] = field(default_factory=dict[str, str])
    data: Mapping[str, Data] = field(default_factory=dict[str, Data])
    inputs: tuple[str, ...] = ()
    results: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.results:
            taken: set[str] = set()
            named = (self.names.get(name, name) for name in self.module.results)
            object.__setattr__(self, "results", tuple(fresh(name, taken) for name in named))
        if not self.inputs:
            named = tuple(self.names.get(name, name) for name in self.module.arguments)
            object.__setattr__(self, "inputs", named)

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The shapes of arguments, constants and results, by the user's names."""
        known = (*self.module.arguments, *self.module.constants, *self.module.results)
        return {self.names.get(name, name): self.module.types[name].shape for name in known}

    @property
    def arguments(self) -> dict[str, TensorType]:
        """The types of arguments, by the user's names."""
        names = self.module.arguments
        return {self.names.get(name, name): self.module.types[name] for name in names}

    @property
    def encoded(self) -> tuple[str, ...]:
        """The arguments that the module stores sparse, by the user's names."""
        return tuple(name for name, kind in self.arguments.items() if kind.encoding is not None)

    @property
    def value(self) -> ValueType:
        """The value type of its arguments and results.

        That of their floating-point elements, fp32 where these have several types or 64 bits;
        of a function without any, that of its integers, int32 where these have several or 64 bits.
        """
        known = [self.module.types[name] for name in (*self.module.arguments, *self.module.results)]
        for names, otherwise in ((_FLOATS, FP32), (_INTEGERS, INT32)):
            found = {names[each.element] for each in known if each.element in names}
            if found:
                return VALUE_TYPES[found.pop()] if len(found) == 1 else otherwise
        return FP32

    @property
    def scopes(self) -> tuple[str, ...]:
        """The parts of the model that its operations belong to, and the parts around these."""
        found: dict[str, None] = {}
        for step in self.module.steps:
            parts = step.location.scope.split(".") if step.location.scope else []
            found |= dict.fromkeys(".".join(parts[: at + 1]) for at in range(len(parts)))
        return tuple(found)

    def prepare(
        self,
        data: Mapping[str, Any] | None = None,
        *,
        formats: Mapping[str, Format | str] | None = None,
        value: ValueType | str | None = None,
        regions: Sequence[str] | None = None,
        densities: Mapping[str, float] | None = None,
        **options: Any,
    ) -> PreparedModel:
        """Make a program of the function, to be compiled in one way or another.

        Parameters
        ----------
        data : mapping of str to array, SciPy matrix or Tensor, optional
            Of arguments, beside what is known of them; hardware can be compiled without.
        formats : mapping of str to Format or str, optional
            Of arguments, constants and results, in their modes.
        value : ValueType or str, optional
            `Function.value` by default.
        regions : sequence of str, optional
            Parts of the model that become one graph each: scopes (`fuseflow.mlir.link`).
        densities : mapping of str to float, optional
            Stored share of arguments without data.
        **options
            See `fuseflow.prepare`.

        Raises
        ------
        MlirError, ParseError, LoweringError, CapacityError, TensorError
        """
        value = value_type(value) if isinstance(value, str) else value or self.value
        self._check_scopes(regions or ())
        known = {**self.data, **{name: as_data(name, each) for name, each in (data or {}).items()}}
        self.check(known)
        chosen = self._formats(formats or {})
        self._check_densities(densities or {})
        sources = {self.names.get(name, name): name for name in self.module.types}
        linked = link(
            self.module,
            self.names,
            {sources[name]: form for name, form in chosen.items()},
            regions,
        )
        tensors = self.tensors(linked, known, value)
        read = linked.program.inputs
        operands = [each for each in linked.inputs if each.name in read]
        stored = {each.name for each in tensors}
        weights = self._weights(operands, chosen)
        free = {each.name: each.format for each in operands
                if each.name not in stored and each.name not in weights}  # fmt: skip
        results = {name: form for name, form in chosen.items() if name in linked.program.results}
        prepared = prepare(
            linked.program,
            *(each for each in tensors if each.name in read),
            unordered=weights,
            auto_convert=options.pop("auto_convert", True),
            split=options.pop("split", True),
            formats={**free, **results},
            dims={**linked.sizes, **options.pop("dims", {})},
            value=value,
            densities=self._shares(operands, densities or {}),
            **options,
        )
        aside = {each.name: each for each in tensors if each.name not in read}
        return PreparedModel(self, linked, prepared, value, chosen, frozenset(known), aside)

    def _weights(self, operands: Sequence[Input], chosen: Mapping[str, Format]) -> set[str]:
        """Return the operands that no call gives and that nothing is said about the storage of."""
        named = {*self.inputs, *chosen}
        return {
            each.name
            for each in operands
            if self.names.get(each.source, each.source) not in named
            and LevelKind.COMPRESSED not in each.format.levels
        }

    def _shares(
        self, operands: Sequence[Input], densities: Mapping[str, float]
    ) -> dict[str, float]:
        """Return the stored shares of a program's operands, from those of arguments."""
        named = {each.name: self.names.get(each.source, each.source) for each in operands}
        return {name: densities[whole] for name, whole in named.items() if whole in densities}

    def _check_scopes(self, regions: Sequence[str]) -> None:
        scopes = self.scopes
        for name in regions:
            if name not in scopes:
                known = f"only {', '.join(scopes)}" if scopes else "it names no parts"
                raise LoweringError(f"the model has no part '{name}' to make a region of, {known}")

    def _check_densities(self, densities: Mapping[str, float]) -> None:
        known = ", ".join(self.arguments)
        for name in densities:
            if name not in self.arguments:
                raise LoweringError(f"the model has no argument '{name}', only {known}")

    def _formats(self, formats: Mapping[str, Format | str]) -> dict[str, Format]:
        shapes = self.shapes
        for name in formats:
            if name not in shapes:
                raise LoweringError(f"the model has no tensor '{name}', only {', '.join(shapes)}")
        return {
            name: Format.parse(form, len(shapes[name])) if isinstance(form, str) else form
            for name, form in formats.items()
        }

    def check(self, data: Mapping[str, Data]) -> None:
        """Check the names and shapes of arguments.

        Raises
        ------
        TensorError
        """
        shapes = {name: kind.shape for name, kind in self.arguments.items()}
        for name, each in data.items():
            if name not in shapes:
                raise TensorError(f"the model has no argument '{name}', only {', '.join(shapes)}")
            if tuple(each.shape) != shapes[name]:
                raise TensorError(
                    f"argument '{name}' has shape {tuple(each.shape)}, the model was exported for "
                    f"{shapes[name]}: give that shape, or export the model for this one"
                )

    def tensors(self, linked: Linked, data: Mapping[str, Data], value: ValueType) -> list[Tensor]:
        """Store what is known of the operands of a program.

        Raises
        ------
        TensorError
            An element is not finite.
        """
        found: list[Tensor] = []
        given = {
            name: data[called]
            for name in self.module.arguments
            if (called := self.names.get(name, name)) in data
        }
        for each in linked.inputs:
            known = given.get(each.source, each.constant)
            if known is None:
                known = derived(self.module, each.source, given)
            if known is not None:
                found.append(each.tensor(known, value))
        return found


@dataclass(frozen=True, eq=False)
class PreparedModel:
    """A function with its program, to be compiled.

    Attributes
    ----------
    function : Function
    linked : Linked
    prepared : Prepared
    value : ValueType
    formats : mapping of str to Format
        Those that were asked for.
    known : frozenset of str
        The arguments whose data is known, by the user's names.
    aside : mapping of str to Tensor
        Parts of results that are parts of arguments, and that the program does not read.
    """

    function: Function
    linked: Linked
    prepared: Prepared
    value: ValueType
    formats: Mapping[str, Format] = field(default_factory=dict[str, Format])
    known: frozenset[str] = frozenset()
    aside: Mapping[str, Tensor] = field(default_factory=dict[str, Tensor])

    @property
    def missing(self) -> tuple[str, ...]:
        """The arguments that the program reads and whose data is not known."""
        names, tensors = self.function.names, {**self.prepared.tensors, **self.aside}
        found: dict[str, None] = {}
        for each in self.linked.inputs:
            if each.name not in tensors:
                behind = arguments_behind(self.function.module, each.source)
                found |= dict.fromkeys(names.get(name, name) for name in behind)
        return tuple(name for name in found if name not in self.known)

    def compile(self, fusion: str = "regions") -> Model:
        """Compile at a fusion granularity; see `fuseflow.compile`.

        Raises
        ------
        LoweringError, CapacityError, TensorError
        """
        return Model(self, self.prepared.compile(fusion))


@dataclass(frozen=True, eq=False)
class ModelRun:
    """What a model computed.

    Attributes
    ----------
    outputs : dict of str to ndarray
        Its results by name, in the shapes that the model gives them.
    run : RunResult
    """

    outputs: dict[str, Array]
    run: RunResult

    @property
    def output(self) -> Array:
        """The first result."""
        return next(iter(self.outputs.values()))

    @property
    def cycles(self) -> int:
        """Of all graphs together."""
        return self.run.cycles


@dataclass(frozen=True, eq=False)
class Model:
    """A compiled function: the program, and how it is called.

    Attributes
    ----------
    source : PreparedModel
    program : fuseflow.Program
    """

    source: PreparedModel
    program: Program

    def run(self, *inputs: Any, **options: Any) -> ModelRun:
        """Run on the golden model and the cycle model.

        Parameters
        ----------
        *inputs : array, SciPy matrix or Tensor
            Other inputs than those that the model was compiled with: none or all.
        **options
            See `fuseflow.Program.run`.

        Raises
        ------
        TensorError
            The inputs do not fit the model.
        CapacityError, VerificationError
            See `fuseflow.Program.run`.
        """
        tensors = self._operands(inputs)
        run = self.program.run(self._read(tensors), **options)
        return ModelRun(self.outputs(run, tensors), run)

    def verify(self, *inputs: Any, waves: str | Path | None = None) -> VerifyResult:
        """Run the RTL of every graph and compare it with the models.

        Raises
        ------
        TensorError, ToolError
        """
        return self.program.verify(self._read(self._operands(inputs)), waves=waves)

    @property
    def results(self) -> tuple[str, ...]:
        """The names of the results of the function."""
        return self.source.function.results

    def tensors(self, run: RunResult) -> dict[str, Tensor]:
        """Return the results of the function, to be written to files.

        They have the formats that were asked for, and are dense otherwise.

        Raises
        ------
        TensorError
            One has too many modes.
        """
        formats = self.source.formats
        return {
            name: Tensor.from_numpy(
                name, array, formats.get(name, "dense" if array.ndim else "scalar"),
                value=self.source.value, computed=True,
            )
            for name, array in self.outputs(run).items()
        }  # fmt: skip

    def outputs(
        self, run: RunResult, tensors: Mapping[str, Tensor] | None = None
    ) -> dict[str, Array]:
        """Return the results of the function from a run of its program."""
        known = {**self.source.aside, **self.program.tensors, **(tensors or {}), **run.results}
        outputs = zip(self.source.function.results, self.source.linked.outputs, strict=True)
        return {name: output.array(known) for name, output in outputs}

    def _read(self, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return the tensors that the program reads, without those that are only returned."""
        read = self.source.linked.program.inputs
        return {name: tensor for name, tensor in tensors.items() if name in read}

    def _operands(self, inputs: Sequence[Any]) -> dict[str, Tensor]:
        function = self.source.function
        if not inputs:
            return {}
        if len(inputs) != len(function.inputs):
            raise TensorError(
                f"the model takes {len(function.inputs)} inputs ({', '.join(function.inputs)}), "
                f"got {len(inputs)}"
            )
        given = {
            name: as_data(name, each) for name, each in zip(function.inputs, inputs, strict=True)
        }
        function.check(given)
        tensors = function.tensors(self.source.linked, given, self.source.value)
        return {each.name: each for each in tensors}


def as_data(name: str, value: Any) -> Data:
    """Return what an array, a SciPy matrix or a Tensor holds.

    Raises
    ------
    TensorError
        It is something else.
    """
    match value:
        case Coordinates():
            return value
        case Tensor():
            rows, numbers = value.entries()
            return Coordinates(rows, numbers, value.shape)
        case _ if sparse.issparse(value):
            matrix = value.tocoo()
            rows = np.stack([matrix.row, matrix.col], axis=1).astype(np.int64)
            return Coordinates(rows, matrix.data, matrix.shape)
        case _:
            array = np.asarray(value)
            if array.dtype.kind not in "biuf":
                raise TensorError(f"argument '{name}' holds {array.dtype}, which is no number")
            return array
