"""The field's standard kernels: the table, data for them, and how our cycles compare."""
