"""The parts that the app is made of, each for one thing that goes on: a start, a swap, a benchmark, a look at the host."""
