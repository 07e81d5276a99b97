"""
Documents: sparse tables and the number of clusters
===================================================

TR11 holds 414 newspaper articles of nine topics as tf-idf weights of 6,429 words. The table stays sparse.
"""

# %%
import matplotlib.pyplot as plt

from kernelweave import WeaveClustering
from kernelweave.datasets import load_dataset
from kernelweave.kernels import Cosine, Gaussian, KernelBank
from kernelweave.metrics import clustering_accuracy, normalized_mutual_information
from kernelweave.plots import plot_evidence

tr11 = load_dataset("tr11")
print(type(tr11.data).__name__, tr11.data.shape, f"{tr11.data.nnz / tr11.data.shape[0]:.0f} words per article")

# %%
# Kernels for text
# ----------------
# The cosine of the angle between articles, and Gaussians of several widths, in one bank.
bank = KernelBank([Cosine(), *(Gaussian(t=t) for t in (0.1, 0.3, 1))])
model = WeaveClustering(9, kernels=bank, random_state=0).fit(tr11.data)
for name, share in zip(model.kernel_names_, model.kernel_shares_, strict=True):
    print(f"{share:5.1%}  {name}")
print(f"accuracy {clustering_accuracy(tr11.target, model.labels_):.3f}")
print(f"NMI {normalized_mutual_information(tr11.target, model.labels_):.3f}")

# %%
# How many topics?
# ----------------
# ``n_clusters="auto"`` compares the articles with samples without structure: it takes a number after which the
# eigenvalues have a clear gap, or else one that different graphs agree on. Take it as a suggestion: the articles were
# sorted into nine topics, and topics have topics within them.
auto = WeaveClustering("auto", random_state=0).fit(tr11.data)
print(f"suggested: {auto.n_clusters_}, since {auto.cluster_evidence_.words}")
plot_evidence(auto)
plt.show()
