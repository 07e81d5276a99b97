"""Plots of fitted models and of tables of results. Each function draws what it is given and returns the Axes."""

from kernelweave.plots.comparison import plot_comparison
from kernelweave.plots.confidence import plot_confidence
from kernelweave.plots.contingency import plot_contingency, plot_metadata
from kernelweave.plots.convergence import plot_convergence
from kernelweave.plots.embedding import plot_embedding
from kernelweave.plots.evidence import plot_evidence
from kernelweave.plots.feature_boxes import plot_feature
from kernelweave.plots.feature_heatmap import plot_features
from kernelweave.plots.graph import plot_graph
from kernelweave.plots.importance_bars import plot_view_importance
from kernelweave.plots.spectrum import plot_spectrum
from kernelweave.plots.surface import plot_heatmap, plot_surface
from kernelweave.plots.weights import plot_weights

__all__ = [
    "plot_comparison",
    "plot_confidence",
    "plot_contingency",
    "plot_convergence",
    "plot_embedding",
    "plot_evidence",
    "plot_feature",
    "plot_features",
    "plot_graph",
    "plot_heatmap",
    "plot_metadata",
    "plot_spectrum",
    "plot_surface",
    "plot_view_importance",
    "plot_weights",
]
