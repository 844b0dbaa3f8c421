"""The fusion table: which tensor's stream at which loop is made by which node (DESIGN section 5.3).

Lowering fills the table cell by cell, and the graph is what the cells hold; there is no other way
from statements to nodes.
"""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeAlias

from fuseflow.samml.formats import Format
from fuseflow.samml.graph import Node

VALUE = "val"
"""The row below the loops: values."""


@dataclass(frozen=True)
class TensorDesc:
    """A column of the table.

    Attributes
    ----------
    name : str
        The access that is read, computed on the way, or stored, such as ``A(i,k)``.
    role : str
        ``input``, ``intermediate`` or ``result``.
    format : Format or None
        How it is stored; an intermediate is not.
    statement : str
        The target of the statement that reads, computes or stores it.
    """

    name: str
    role: str
    format: Format | None = None
    statement: str = ""

    def __str__(self) -> str:
        return f"{self.name} {self.format or self.role}"


@dataclass(frozen=True)
class Reference:
    """A cell's stream that another column makes."""

    node: str
    column: TensorDesc

    def __str__(self) -> str:
        return f"-> {self.node}"


Cell: TypeAlias = Node | Reference


@dataclass
class FusionTable:
    """Loops against tensors.

    Attributes
    ----------
    iteration_order : tuple of str
        The loop variables, outermost first: the rows, above the row of values.
    tensor_columns : list of TensorDesc
        Inputs, intermediates and results, as they come up.
    cells : dict
        By row and column, in the order in which they were made: nodes, and references to those of
        other columns.
    root : Node or None
        The node that starts a run.
    """

    iteration_order: tuple[str, ...]
    tensor_columns: list[TensorDesc] = field(default_factory=list[TensorDesc])
    cells: dict[tuple[str, TensorDesc], list[Cell]] = field(
        default_factory=dict[tuple[str, TensorDesc], list[Cell]]
    )
    root: Node | None = None
    _made: dict[str, tuple[int, Node, TensorDesc]] = field(
        default_factory=dict[str, tuple[int, Node, TensorDesc]]
    )
    _column: TensorDesc | None = None

    @contextmanager
    def column(self, column: TensorDesc) -> Generator[None]:
        """Let the cells that are filled meanwhile stand in a column."""
        before, self._column = self._column, column
        if column not in self.tensor_columns:
            self.tensor_columns.append(column)
        try:
            yield
        finally:
            self._column = before

    def put(self, row: str, node: Node) -> None:
        """Fill a cell of the current column with a new node; the root stands in none."""
        if self._column is None:
            self.root = self.root or node
            return
        self._made[node.name] = len(self._made), node, self._column
        self.cells.setdefault((row, self._column), []).append(node)

    def refer(self, row: str, node: str) -> None:
        """Let the current column use a node; another column's is referred to."""
        if self._column is None or node not in self._made:
            return
        column = self._made[node][2]
        cell = self.cells.setdefault((row, self._column), [])
        reference = Reference(node, column)
        if column != self._column and reference not in cell:
            cell.append(reference)

    def column_of(self, node: str) -> TensorDesc | None:
        """Return the column that a node stands in; the root stands in none."""
        found = self._made.get(node)
        return None if found is None else found[2]

    def nodes(self) -> tuple[Node, ...]:
        """Return the nodes of all cells, in dataflow order."""
        found = [cell for cells in self.cells.values() for cell in cells if isinstance(cell, Node)]
        found.sort(key=lambda node: self._made[node.name][0])
        return (*(() if self.root is None else (self.root,)), *found)

    def kept(self, nodes: Sequence[Node]) -> "FusionTable":
        """Return the table of the nodes that a graph has kept."""
        names = {node.name: node for node in nodes}
        cells: dict[tuple[str, TensorDesc], list[Cell]] = {}
        for place, cell in self.cells.items():
            left: list[Cell] = []
            for each in cell:
                if isinstance(each, Reference):
                    left += [each] if each.node in names else []
                elif each.name in names:
                    left.append(names[each.name])
            if left:
                cells[place] = left
        columns = [each for each in self.tensor_columns if any(c == each for _, c in cells)]
        return FusionTable(self.iteration_order, columns, cells, self.root, self._made)

    def __str__(self) -> str:
        rows = [*self.iteration_order, VALUE]
        lines = [["", *map(str, self.tensor_columns)]]
        texts = [
            [[row], *([_shown(each) for each in self.cells.get((row, column), [])]
                      for column in self.tensor_columns)]
            for row in rows
        ]  # fmt: skip
        for row in texts:
            height = max(len(cell) for cell in row)
            lines += [[cell[k] if k < len(cell) else "" for cell in row] for k in range(height)]
        widths = [max(len(line[k]) for line in lines) for k in range(len(lines[0]))]
        rule = "-+-".join("-" * width for width in widths)
        printed = [_line(lines[0], widths)]
        at = 1
        for row in texts:
            height = max(len(cell) for cell in row)
            printed += [rule, *(_line(line, widths) for line in lines[at : at + height])]
            at += height
        return "\n".join(printed) + "\n"


def _shown(cell: Cell) -> str:
    return cell.name if isinstance(cell, Node) else str(cell)


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    pairs = zip(cells, widths, strict=True)
    return " | ".join(cell.ljust(width) for cell, width in pairs).rstrip()
