"""Benches: tiles under Verilator, compared with the cycle model edge by edge."""
