"""One loop for every model: a problem, a scheme made of steps, and the solution with its history.

`minimise` runs a scheme; `smkl`, `kgl` and `pmkl` make one, in the versions that `schemes` describes.
"""

from kernelweave.solve.loop import minimise
from kernelweave.solve.problem import History, Outcome, Problem, Record, Solution, State, StepError, Workspace
from kernelweave.solve.scheme import GammaLike, NeighborsLike, Scheme
from kernelweave.solve.schemes import VERSIONS, kgl, pmkl, smkl

__all__ = [
    "VERSIONS",
    "GammaLike",
    "History",
    "NeighborsLike",
    "Outcome",
    "Problem",
    "Record",
    "Scheme",
    "Solution",
    "State",
    "StepError",
    "Workspace",
    "kgl",
    "minimise",
    "pmkl",
    "smkl",
]
