"""
Faces: which kernel finds the persons?
======================================

YALE holds 165 photographs of 15 persons, under lights from left and right, with glasses and without. Which kernel
separates persons rather than lights is not known in advance; the weights of the kernels are learned from the data.

The data set is downloaded once and checked. If you have the file, set ``KERNELWEAVE_DATA`` to its folder. If it is not
available, this page uses the first 300 of scikit-learn's digits instead, and says so below.
"""

# %%
# Twelve kernels, no labels
# -------------------------
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from kernelweave import SMKLClustering, WeaveClustering
from kernelweave.datasets import load_dataset
from kernelweave.errors import DataUnavailableError
from kernelweave.metrics import clustering_accuracy
from kernelweave.plots import plot_convergence, plot_graph, plot_weights

try:
    yale = load_dataset("yale")
    images, person = yale.data, yale.target
except DataUnavailableError:
    print("YALE is not available here: these are scikit-learn's digits, and a person below is a digit.")
    yale = None
    images, person = (part[:300] for part in load_digits(return_X_y=True))
c = len(np.unique(person))

weave = WeaveClustering(n_clusters=c, random_state=0).fit(images)
plot_weights(weave)
plt.show()

# %%
# The graph, with samples sorted by cluster. A block on the diagonal is a cluster; edges outside the blocks join
# photographs of different clusters.
plot_graph(weave)
plt.show()

# %%
# How good is it?
# ---------------
# The persons are known for this data set, so the accuracy can be computed. No parameter was tuned on them.
print(f"WeaveClustering finds the person in {clustering_accuracy(person, weave.labels_):.1%} of the photographs")

# %%
# The paper's method, which learns kernel, graph and embedding in a loop:
smkl = SMKLClustering(n_clusters=c, random_state=0).fit(images)
print(f"SMKLClustering: {clustering_accuracy(person, smkl.labels_):.1%}. {smkl.outcome_.value}")
plot_convergence(smkl)
plt.show()

# %%
# Parameters chosen by the labels
# -------------------------------
# The paper reports the best result of a grid, chosen by the labels. ``scheme="released"`` is the program that was
# released with it.
if yale is not None:
    tuned = SMKLClustering(15, scheme="released", alpha=1e-4, beta=10, gamma=1, n_init=100, random_state=0).fit(images)
    print(f"tuned on the labels: {clustering_accuracy(person, tuned.labels_):.1%} (the paper: 60.0%)")
else:
    print("The parameters of the paper are for YALE, which is not available here.")
