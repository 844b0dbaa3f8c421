"""The cycle model: one compiled kernel that interprets the tables of a graph."""
