"""Graphs of other tools: what the Sparse Abstract Machine's compiler writes, read into SAMML."""

from fuseflow.interchange.custard import Custard, Imported, open_custard, read_custard
from fuseflow.interchange.signature import Signature

__all__ = ["Custard", "Imported", "Signature", "open_custard", "read_custard"]
