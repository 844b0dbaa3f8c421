"""The compiler: Einsum statements to SAMML graphs (DESIGN section 5)."""

from fuseflow.compiler.expr import Access, Add, Mul, Statement, Sub
from fuseflow.compiler.parse import einsum, parse
from fuseflow.compiler.pipeline import Lowered, compile_statement
from fuseflow.compiler.truth import evaluate

__all__ = [
    "Access",
    "Add",
    "Lowered",
    "Mul",
    "Statement",
    "Sub",
    "compile_statement",
    "einsum",
    "evaluate",
    "parse",
]
