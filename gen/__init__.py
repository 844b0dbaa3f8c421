"""SAMML graph to Amaranth top, deterministic Verilog and its manifest."""
