"""A stand-in for vLLM: its command line, processes, log, metrics and HTTP, without a model. Standard library only.

On a lab host it is /opt/vllm, started as the real one: `/opt/vllm/bin/vllm serve MODEL --port 8000 …`. What a real one
does by itself is told by environment variables, see `options.py`.
"""
