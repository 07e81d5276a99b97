"""What the clusters are: the features that set them apart, single samples, and what is associated with them."""

from kernelweave.explain.association import Associations, Metadata, associate
from kernelweave.explain.cluster_features import Explanation, Profile, explain_clusters
from kernelweave.explain.label_check import LabelCheck, check_labels
from kernelweave.explain.one_sample import SampleExplanation, explain_sample
from kernelweave.explain.two_clusterings import Comparison, compare_clusterings

__all__ = [
    "Associations",
    "Comparison",
    "Explanation",
    "LabelCheck",
    "Metadata",
    "Profile",
    "SampleExplanation",
    "associate",
    "check_labels",
    "compare_clusterings",
    "explain_clusters",
    "explain_sample",
]
