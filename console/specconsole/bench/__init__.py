"""Benchmarks: prompts, statistics, acceptance, comparison."""
