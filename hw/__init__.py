"""Amaranth components: edges, and one unit per file of `hw.primitives`."""
