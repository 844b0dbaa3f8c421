"""Closed-form runs: skipping the periods of loops whose state repeats."""
