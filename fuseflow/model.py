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
from fuseflow.mlir.boundary import Coordinates, Data
from fuseflow.mlir.link import Linked, link
from fuseflow.mlir.module import Array, Module
from fuseflow.outcome import RunResult, VerifyResult
from fuseflow.samml.errors import LoweringError, TensorError
from fuseflow.samml.formats import Format, LevelKind
from fuseflow.samml.values import ValueType, value_type
from fuseflow.tensor import Tensor
from fuseflow.tensor.untyped import sparse

MODULE_SUFFIX = ".mlir"
"""A path that ends so is a module in text form."""


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
    """

    module: Module
    names: Mapping[str, str] = field(default_factory=dict[str, str])
    data: Mapping[str, Data] = field(default_factory=dict[str, Data])
    inputs: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.inputs:
            named = tuple(self.names.get(name, name) for name in self.module.arguments)
            object.__setattr__(self, "inputs", named)

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The shapes of arguments, constants and results, by the user's names."""
        known = (*self.module.arguments, *self.module.constants, *self.module.results)
        return {self.names.get(name, name): self.module.types[name].shape for name in known}

    def prepare(
        self,
        data: Mapping[str, Any] | None = None,
        *,
        formats: Mapping[str, Format | str] | None = None,
        value: ValueType | str = "fp32",
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
        value : ValueType or str
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
        value = value_type(value) if isinstance(value, str) else value
        known = {**self.data, **{name: as_data(name, each) for name, each in (data or {}).items()}}
        self.check(known)
        chosen = self._formats(formats or {})
        sources = {self.names.get(name, name): name for name in self.module.types}
        linked = link(
            self.module,
            self.names,
            {sources[name]: form for name, form in chosen.items()},
            regions,
        )
        program = linked.program
        tensors = self.tensors(linked, known, value)
        given = {each.name for each in tensors}
        stored = {each.name: each.format for each in linked.inputs if each.name not in given}
        results = {name: form for name, form in chosen.items() if name in program.results}
        shares = {
            each.name: densities[name]
            for each in linked.inputs
            if (name := self.names.get(each.source, each.source)) in (densities or {})
            and densities is not None
        }
        weights = {
            each.name
            for each in linked.inputs
            if self.names.get(each.source, each.source) not in {*self.inputs, *chosen}
            and LevelKind.COMPRESSED not in each.format.levels
        }
        prepared = prepare(
            program,
            *tensors,
            unordered=weights,
            formats={**{n: f for n, f in stored.items() if n not in weights}, **results},
            dims={**linked.sizes, **options.pop("dims", {})},
            value=value,
            densities=shares,
            **options,
        )
        return PreparedModel(self, linked, prepared, value)

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
        shapes = self.shapes
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
        for each in linked.inputs:
            known = data.get(self.names.get(each.source, each.source), each.constant)
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
    """

    function: Function
    linked: Linked
    prepared: Prepared
    value: ValueType

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
        run = self.program.run(tensors, **options)
        return ModelRun(self.outputs(run, tensors), run)

    def verify(self, *inputs: Any, waves: str | Path | None = None) -> VerifyResult:
        """Run the RTL of every graph and compare it with the models.

        Raises
        ------
        TensorError, ToolError
        """
        return self.program.verify(self._operands(inputs), waves=waves)

    def outputs(
        self, run: RunResult, tensors: Mapping[str, Tensor] | None = None
    ) -> dict[str, Array]:
        """Return the results of the function from a run of its program."""
        known = {**self.program.tensors, **(tensors or {}), **run.results}
        names = self.source.function.names
        return {
            names.get(each.name, each.name): each.array(known)
            for each in self.source.linked.outputs
        }

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
