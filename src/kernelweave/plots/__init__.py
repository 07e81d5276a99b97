"""Pictures of fitted models: each function takes a model, draws what it has learned, and returns the Axes."""

from kernelweave.plots.convergence import plot_convergence
from kernelweave.plots.embedding import plot_embedding
from kernelweave.plots.evidence import plot_evidence
from kernelweave.plots.graph import plot_graph
from kernelweave.plots.weights import plot_weights

__all__ = ["plot_convergence", "plot_embedding", "plot_evidence", "plot_graph", "plot_weights"]
