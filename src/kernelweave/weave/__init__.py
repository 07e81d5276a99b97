"""From samples to a sparse graph that answers for new samples: the solvers Dense, Local and Landmark."""

from kernelweave.core.graphs.affinity import GraphRule, RowPart
from kernelweave.weave.choice import SolverChoice
from kernelweave.weave.clarity import Clarity
from kernelweave.weave.consensus_kernel import Consensus, VersionKernels
from kernelweave.weave.dense import Dense
from kernelweave.weave.dense_rows import DenseRows
from kernelweave.weave.graph_model import Centres, GraphModel, lazy_labels
from kernelweave.weave.landmark.landmark_solver import Landmark
from kernelweave.weave.landmark.learning import LandmarkRows
from kernelweave.weave.learned_rows import LearnedRows
from kernelweave.weave.local.local_graph import LocalRows, LocalWeave
from kernelweave.weave.local.local_kernel import LocalConsensus, LocalKernel
from kernelweave.weave.local.local_solver import Local

__all__ = [
    "Centres",
    "Clarity",
    "Consensus",
    "Dense",
    "DenseRows",
    "GraphModel",
    "GraphRule",
    "Landmark",
    "LandmarkRows",
    "LearnedRows",
    "Local",
    "LocalConsensus",
    "LocalKernel",
    "LocalRows",
    "LocalWeave",
    "RowPart",
    "SolverChoice",
    "VersionKernels",
    "lazy_labels",
]
