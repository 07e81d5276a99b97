"""
Toys: clusterers side by side
=============================

Six data sets of two columns, after scikit-learn's comparison of its clusterers: circles, moons, blobs of different
variance, stretched blobs, round blobs, and a square without any groups. Every method is given the number of clusters,
except HDBSCAN, which finds its own. All other parameters have their defaults, but for the neighbours of
SpectralClustering and the least size of a cluster of HDBSCAN.

Toys show which shapes a method can follow, and nothing more. Figures on real data are on the page
:doc:`/measured`.
"""

# %%
import warnings
from time import perf_counter

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import HDBSCAN, AgglomerativeClustering, KMeans, SpectralClustering
from sklearn.datasets import make_blobs, make_circles, make_moons
from sklearn.mixture import GaussianMixture
from sklearn.preprocessing import StandardScaler

from kernelweave import SMKLClustering, WeaveClustering
from kernelweave.metrics import clustering_accuracy

warnings.filterwarnings("ignore", message="Graph is not fully connected")  # what SpectralClustering says of blobs

N = 400
blobs, groups = make_blobs(N, centers=[[-6, -4], [0, -4], [6, 4]], random_state=2)
toys = {
    "circles": make_circles(N, factor=0.5, noise=0.05, random_state=0),
    "moons": make_moons(N, noise=0.05, random_state=0),
    "varied": make_blobs(N, centers=[[-9, 0], [0, 7], [6, -4]], cluster_std=[1, 2.5, 0.5], random_state=0),
    "stretched": (blobs @ [[0.6, -0.6], [-0.4, 0.8]], groups),
    "blobs": make_blobs(N, centers=3, random_state=8),
    "no groups": (np.random.default_rng(0).uniform(size=(N, 2)), None),
}


def methods(c):
    """Return the clusterers by their names."""
    return {
        "Weave": WeaveClustering(c, random_state=0),
        "SMKL": SMKLClustering(c, random_state=0),
        "KMeans": KMeans(c, random_state=0),
        "Spectral": SpectralClustering(c, affinity="nearest_neighbors", n_neighbors=10, random_state=0),
        "Ward": AgglomerativeClustering(c, linkage="ward"),
        "Mixture": GaussianMixture(c, random_state=0),
        "HDBSCAN": HDBSCAN(min_cluster_size=15, copy=True),
    }


# %%
# Colours are clusters; grey samples belong to none, which only HDBSCAN allows. The number in the corner is the time of
# the fit. The square has no groups; a method that is given a number of clusters cuts it into pieces all the same.
fig, axes = plt.subplots(len(toys), len(methods(2)), figsize=(12, 10.5), layout="constrained")
right = {}
for i, (name, (X, y)) in enumerate(toys.items()):
    X = StandardScaler().fit_transform(X)
    for j, (method, model) in enumerate(methods(3 if y is None else len(set(y))).items()):
        start = perf_counter()
        labels = model.fit_predict(X)
        seconds = perf_counter() - start
        if y is not None:
            right[name, method] = clustering_accuracy(y, labels)
        ax = axes[i, j]
        ax.scatter(*X.T, s=4, c=["0.7" if label < 0 else f"C{label % 10}" for label in labels])
        ax.text(0.03, 0.03, f"{1000 * seconds:.0f} ms", transform=ax.transAxes, size=9)
        ax.set(xticks=[], yticks=[], xlim=(-2.9, 2.9), ylim=(-2.9, 2.9))
        if i == 0:
            ax.set_title(method)
    axes[i, 0].set_ylabel(name)
plt.show()

# %%
# How many samples are right
# --------------------------
# The groups of five toys are known, so the same clusters can be scored.
names = list(methods(2))
print(f"{'':10}", *(f"{method:>9}" for method in names))
for name in list(toys)[:-1]:
    print(f"{name:10}", *(f"{right[name, method]:9.3f}" for method in names))
