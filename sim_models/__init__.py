"""Software readers of a SAMML graph: golden meaning and cycle model."""
