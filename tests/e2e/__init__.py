"""Tests against a real vLLM (its CPU build) with a tiny model, on a lab host."""
