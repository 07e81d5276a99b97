r"""
How SMKL works
==============

Self-weighted multiple kernel learning, the method of Kang, Lu, Yi and Xu (2018), finds clusters in four steps that it
repeats: a weight for every kernel, a consensus of the kernels, a graph of the samples, and an embedding in which the
clusters are read off. This page shows each step on 90 points in the plane. The formulas are on the page
:doc:`/mathematics`.
"""

# %%
# The data
# --------
# Three groups of 30 points, one of them wider than the others. The samples are sorted by group, so that a good
# similarity matrix has three blocks.
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.collections import LineCollection
from sklearn.datasets import make_blobs

from kernelweave import SMKLClassifier, SMKLClustering
from kernelweave.kernels import Gaussian, recipe
from kernelweave.metrics import clustering_accuracy
from kernelweave.plots import plot_convergence, plot_weights

X, group = make_blobs([30, 30, 30], centers=[[-3, -2], [3, -2], [0, 4]], cluster_std=[0.8, 0.8, 1.6], random_state=1)
order = np.argsort(group, kind="stable")
X, group = X[order], group[order]

COLOURS = np.array(["#0072B2", "#D55E00", "#009E73"])


def draw_points(ax, colours, title):
    """Draw the samples in the plane."""
    ax.scatter(*X.T, c=colours, s=18, zorder=2)
    ax.set(title=title, xticks=[], yticks=[], aspect="equal")


fig, ax = plt.subplots(figsize=(4, 4), layout="constrained")
draw_points(ax, COLOURS[group], "90 samples, true groups")
plt.show()

# %%
# Step 0: many kernels
# --------------------
# A kernel says how similar two samples are. Which one suits the data is not known, so there are twelve: Gaussians from
# very narrow to very wide, the inner product and polynomials. Each picture below is the matrix of similarities of all
# pairs. A very narrow Gaussian finds every sample similar to itself only; a very wide one finds all samples alike.
# Neither has information about the groups.
bank = recipe("released-12")
H = bank.fit_grams(X)
fig, axes = plt.subplots(3, 4, figsize=(9, 7), layout="constrained")
for ax, K, name in zip(axes.flat, H, bank.names, strict=True):
    ax.imshow(K, vmin=0, vmax=1, cmap="viridis")
    ax.set(xticks=[], yticks=[])
    ax.set_title(name, fontsize=9)
plt.show()

# %%
# Step 1: weights
# ---------------
# The consensus kernel is near to most of the kernels. A kernel has the weight :math:`w_i = 1 / (2 \|H_i - K\|)`: the
# farther it is from the consensus K, the smaller its weight. No parameter is involved. Here a thirteenth kernel is
# added that has no information about the samples: the Gaussian of samples in random order.
shuffled = np.random.default_rng(0).permutation(len(X))
noise = Gaussian(t=0.1).fit(X).gram(X[shuffled])
kernels = dict(zip(bank.names, H, strict=True)) | {"random order": noise}
model = SMKLClustering(3, kernels="precomputed", random_state=0).fit(kernels)
plot_weights(model)
plt.show()

share = dict(zip(model.kernel_names_, model.kernel_shares_, strict=True))
print(f"largest share: {max(share.values()):.1%}; random order: {share['random order']:.1%}")

# %%
# Step 2: consensus
# -----------------
# With these weights the consensus is pulled towards the geometric median of the kernels. The mean, on the left, gives
# the same weight to all kernels, useless ones too. A few bad kernels change the median less.
fig, axes = plt.subplots(1, 2, figsize=(8, 4), layout="constrained")
pictures = {"mean": np.mean(list(kernels.values()), axis=0), "consensus": model.consensus_kernel_}
for ax, (name, K) in zip(axes, pictures.items(), strict=True):
    picture = ax.imshow(K, cmap="viridis")
    ax.set(title=name, xticks=[], yticks=[])
    fig.colorbar(picture, ax=ax, shrink=0.8)
plt.show()

# %%
# Step 3: graph
# -------------
# Every sample is written as a combination of the others in the feature space of the consensus kernel; the coefficients
# are the edges of a graph. Samples of one group are combinations of each other, so most edges join samples of one
# group. The term with ``gamma`` keeps the edges small, the term with ``alpha`` favours edges between samples whose
# embeddings (step 4) are alike. On the right, the strongest edges of every sample.
S = (model.graph_ + model.graph_.T) / 2
np.fill_diagonal(S, 0)
nearest = np.argsort(-S, axis=1)[:, :3]
edges = [(X[i], X[j]) for i in range(len(X)) for j in nearest[i]]
fig, axes = plt.subplots(1, 2, figsize=(8, 4), layout="constrained")
axes[0].imshow(S, vmin=0, vmax=np.quantile(S, 0.99), cmap="viridis")
axes[0].set(title="graph", xticks=[], yticks=[])
axes[1].add_collection(LineCollection(edges, colors="0.7", linewidths=0.8, zorder=1))
draw_points(axes[1], COLOURS[group], "the three strongest edges of each sample")
plt.show()

inside = np.mean([group[i] == group[j] for i in range(len(X)) for j in nearest[i]])
print(f"{inside:.1%} of these edges join samples of the same group")

# %%
# Step 4: embedding and clusters
# ------------------------------
# The eigenvectors of the graph's Laplacian that belong to its smallest eigenvalues are coordinates in which samples
# that the graph joins are near. k-means in these coordinates gives the clusters.
found = model.labels_
nearest_group = np.array([np.bincount(group[found == k]).argmax() for k in range(3)])  # the same colours as above
fig, axes = plt.subplots(1, 2, figsize=(8, 4), layout="constrained")
axes[0].scatter(model.embedding_[:, 1], model.embedding_[:, 2], c=COLOURS[nearest_group[found]], s=18)
axes[0].set(title="second and third eigenvector", xticks=[], yticks=[])
draw_points(axes[1], COLOURS[nearest_group[found]], "clusters")
plt.show()

print(f"{clustering_accuracy(group, found):.1%} of the samples are in the cluster of their group")

# %%
# Again, until nothing changes
# ----------------------------
# Weights, consensus, graph and embedding depend on each other: a new graph changes the best consensus, which changes
# the weights. SMKL repeats the steps until the graph stops changing. The default scheme never increases the objective.
plot_convergence(model)
plt.show()
print(f"{model.n_iter_} iterations. {model.outcome_.value}")

# %%
# With a few labels
# -----------------
# If some samples are labelled, step 4 is replaced: the labels spread along the edges of the graph to all other samples.
# Three samples of each group are labelled here, marked by circles.
y = np.full(len(X), -1)
labelled = [3, 12, 21, 33, 42, 51, 63, 72, 81]
y[labelled] = group[labelled]
classifier = SMKLClassifier(kernels="precomputed").fit(kernels, y)
fig, ax = plt.subplots(figsize=(4, 4), layout="constrained")
draw_points(ax, COLOURS[classifier.transduction_], "classes from nine labels")
ax.scatter(*X[labelled].T, s=120, facecolors="none", edgecolors="black")
plt.show()

right = np.delete(classifier.transduction_ == group, labelled)
print(f"{right.mean():.1%} of the other {len(right)} samples get the class of their group")

# %%
# ``alpha``, ``beta`` and ``gamma`` are the parameters of the paper: how much the embedding shapes the graph, how near
# the consensus stays to the kernels, and how evenly a sample is written by others. :doc:`/choosing` says when to change
# them, :doc:`/solver` how the steps are computed.
