"""All benchmarks of the solver: `python -m benchmarks [section ...]`."""

from benchmarks.solver import main

main()
