"""SAMML, the dataflow graph language: tokens, streams, catalog, graphs and their checks."""
