"""specconsole: an operator console for hosts that serve one big model with vLLM under systemd."""

__version__ = "0.1.0"
