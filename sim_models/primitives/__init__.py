"""One file per primitive of the catalog: its golden meaning, and the step of its units."""
