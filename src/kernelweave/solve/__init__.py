"""One loop for every model: a problem, a scheme made of steps, and the solution with its history."""

from kernelweave.solve.loop import minimise
from kernelweave.solve.problem import Problem, State
from kernelweave.solve.result import History, Outcome, Record, Solution
from kernelweave.solve.scheme import Scheme
from kernelweave.solve.schemes import VERSIONS, kgl, pmkl, smkl

__all__ = [
    "VERSIONS",
    "History",
    "Outcome",
    "Problem",
    "Record",
    "Scheme",
    "Solution",
    "State",
    "kgl",
    "minimise",
    "pmkl",
    "smkl",
]
