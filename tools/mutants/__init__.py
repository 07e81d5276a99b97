"""Mutation testing: change one place of the code at a time and see whether the tests notice.

`python -m tools.mutants reach` runs the tests once and stores which test runs which line; `python -m tools.mutants try`
draws mutants at random and runs, for each, the tests that reach its line. `python -m tools.mutants again` runs tests
that were written since on those that survived. Results are appended to a file, so that a run can be interrupted and
goes on where it stopped.
"""
