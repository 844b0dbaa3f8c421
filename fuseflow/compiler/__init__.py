"""The compiler: Einsum statements to SAMML graphs (DESIGN section 5)."""

from fuseflow.compiler.expr import Access, Binary, Constant, Fold, Statement, Unary
from fuseflow.compiler.parse import einsum, parse
from fuseflow.compiler.pipeline import Lowered, compile_statement
from fuseflow.compiler.truth import Truth, evaluate

__all__ = [
    "Access",
    "Binary",
    "Constant",
    "Fold",
    "Lowered",
    "Statement",
    "Truth",
    "Unary",
    "compile_statement",
    "einsum",
    "evaluate",
    "parse",
]
