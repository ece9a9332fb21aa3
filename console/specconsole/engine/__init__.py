"""The engine's HTTP side: health, models, metrics."""
