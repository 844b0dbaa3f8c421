"""The documentation and the generator of those pages that follow from definitions."""
