"""
Documents: sparse tables and the number of clusters
===================================================

TR11 holds 414 newspaper articles of nine topics as tf-idf weights of 6,429 words. The table is sparse and stays so.
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
# The angle between articles, and Gaussians of several widths, in one bank.
bank = KernelBank([Cosine(), *(Gaussian(t=t) for t in (0.1, 0.3, 1))])
model = WeaveClustering(9, kernels=bank, random_state=0).fit(tr11.data)
for name, share in zip(model.kernel_names_, model.kernel_shares_, strict=True):
    print(f"{share:5.1%}  {name}")
print(f"accuracy {clustering_accuracy(tr11.target, model.labels_):.3f}")
print(f"NMI {normalized_mutual_information(tr11.target, model.labels_):.3f}")

# %%
# How many topics?
# ----------------
# ``n_clusters="auto"`` looks at the modularity of partitions and at how well they survive when the graph is perturbed.
# It is a hint, not an answer: the articles were sorted into nine topics.
auto = WeaveClustering("auto", random_state=0).fit(tr11.data)
print(f"suggested: {auto.n_clusters_}")
plot_evidence(auto)
plt.show()
