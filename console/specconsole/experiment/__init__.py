"""Benchmarks of units: what bench and service do together."""
