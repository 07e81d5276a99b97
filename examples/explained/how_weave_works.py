"""
How Weave works: the code of the pictures
=========================================

Every step of ``WeaveClustering`` on 178 samples of two columns. :doc:`/how-weave-works` explains the steps; this page
is the code that draws them. It takes the fit apart with functions that ``fit`` itself calls. They are internal and may
change: in your own code, call ``fit``.
"""

# %%
# The samples
# -----------
# Two long groups, one round group, and a few samples between the long ones. The first column has another unit than the
# second, as centimetres beside metres would.
import matplotlib.pyplot as plt
import numpy as np

from kernelweave import WeaveClustering
from kernelweave.core.graphs.affinity import several_cuts
from kernelweave.core.partitions.agreement import co_association, merge, trusted
from kernelweave.plots import plot_evidence
from kernelweave.samples.prepared import prepare
from kernelweave.samples.views import Views
from kernelweave.weave.consensus_kernel import combine
from kernelweave.weave.graph_partitions import read_graph

rng = np.random.default_rng(0)
X = np.vstack(
    [
        rng.normal((0, 0), (1.2, 0.3), size=(60, 2)),
        rng.normal((0, 2), (1.2, 0.3), size=(60, 2)),
        rng.normal((4.2, 1), 0.5, size=(50, 2)),
        np.column_stack([rng.normal(0, 0.5, 8), rng.uniform(0.5, 1.5, 8)]),
    ]
)
X *= (10, 1)

# %%
# 1. Two versions of the samples
# ------------------------------
# With two columns the first version has the samples as they are. In both pictures the two axes have the same unit,
# since kernels compare distances: without scaling, the second column has hardly any influence.
compared = prepare(Views.of_table(X), "auto", most_copies=4).compared
names = {"direction": "as they are", "zscore": "z-scores"}

fig, axes = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained")
for ax, (version, samples) in zip(axes, compared, strict=True):
    ax.scatter(*samples.tables[0].T, s=8, color="0.3")
    ax.set(title=names[version.name], aspect="equal", xticks=[], yticks=[])
    ax.margins(0.1)
axes[0].set_ylim(np.array(axes[0].get_xlim()) * 0.35)
plt.show()

# %%
# 2. Kernels and their consensus
# ------------------------------
# Tables of few columns are compared by four Gaussians, from narrow to wide. Dark entries are pairs of samples that a
# kernel finds similar; samples are in the order of their groups. The kernels of the z-scores are shown, and the
# consensus, their mean weighted by their shares.
found = [combine(one, "auto", "self") for one in compared]
shown = found[1]
kernels = shown.bank.grams(shown.training, shown.training)

fig, axes = plt.subplots(1, 5, figsize=(11, 2.7), layout="constrained")
for ax, kernel, name, share in zip(axes, kernels, shown.bank.names, shown.versions[0].weights, strict=False):
    ax.imshow(kernel, cmap="Greys")
    ax.set_title(f"{name}\nshare {share:.1%}", size=9)
axes[4].imshow(shown.matrix, cmap="Greys")
axes[4].set_title("consensus of\nall four", size=9, weight="bold")
plt.setp(axes, xticks=[], yticks=[])
plt.show()

# %%
# 3. Graphs
# ---------
# Eight graphs of each version, as of all tables of at most three columns: the affinities of the ridge representation
# with 10 and 15 neighbours, and with 10 and 30 and weights by shared neighbours; self-tuned similarities of 5 and 15
# neighbours, and of 10 and 20 with weights by shared neighbours. Three of each are shown, all drawn at the z-scores,
# whatever they were built from.
cuts = ["ridge 10", "ridge 15", "ridge 10, shared", "ridge 30, shared"]
cuts += ["neighbours 5", "neighbours 15", "neighbours 10, shared", "neighbours 20, shared"]
graphs, titles, prior = [], [], []
for (version, _), consensus in zip(compared, found, strict=True):
    for family in several_cuts(consensus.matrix, ("ridge", "tuned"), 0.1, any_shape=True):
        graphs += family.graphs
        prior += [version.share] * len(family.graphs)
    titles += [f"{names[version.name]}: {cut}" for cut in cuts]
places = compared[1].samples.tables[0]


def draw_graph(ax, S, title):
    """Draw the edges of a graph, the heavier the darker."""
    i, j = (S := S.tocoo()).coords
    for a, b, weight in zip(i[i < j], j[i < j], S.data[i < j] / S.data.max(), strict=True):
        ax.plot(*places[[a, b]].T, color="0.1", linewidth=0.6, alpha=float(0.1 + 0.9 * weight), zorder=0)
    ax.scatter(*places.T, s=5, color="C0")
    ax.set_title(title, size=9)
    ax.set(xticks=[], yticks=[])


fig, axes = plt.subplots(2, 3, figsize=(11, 5.6), layout="constrained")
for ax, g in zip(axes.flat, (1, 4, 6, 9, 12, 14), strict=True):
    draw_graph(ax, graphs[g], titles[g])
plt.show()

# %%
# 4. Five partitions of every graph
# ---------------------------------
# k-means clusters the eigenvectors of the graph in five forms. If the groups of a graph depend on the form, the graph
# gets little weight. Agreement is the mean adjusted Rand index of the ten pairs of partitions. These are the graphs
# with the largest and the smallest agreement; only the groups matter, not their colours.
state = np.random.RandomState(0)
partitions, agreement = [], []
for S in graphs:
    read = read_graph(S, "auto", 3, 3, 12, state)
    partitions.append(read.partitions)
    agreement.append(read.agreement)

forms = [
    "eigenvectors",
    "rows divided by\nroot of length",
    "rows of\nunit length",
    "commute times",
    "commute times,\nfive columns",
]
fig, axes = plt.subplots(2, 5, figsize=(11, 4.6), layout="constrained")
for first, row, g in zip((True, False), axes, (np.argmax(agreement), np.argmin(agreement)), strict=True):
    for ax, labels, form in zip(row, partitions[g], forms, strict=True):
        ax.scatter(*places.T, s=5, c=[f"C{label}" for label in labels])
        ax.set(xticks=[], yticks=[])
        if first:
            ax.set_title(form, size=9)
    row[0].set_ylabel(titles[g].replace(": ", ":\n") + f"\nagreement {agreement[g]:.2f}", size=9)
plt.show()

# %%
# 5. How much every graph counts
# ------------------------------
# A power of the agreement, times the share that the version had before. The first version had less: nearly all of the
# size of its rows is in one column.
weights = np.array(prior) * [trusted(a, few_columns=True) for a in agreement]
weights /= weights.sum()

fig, ax = plt.subplots(figsize=(8, 3.4), layout="constrained")
ax.barh(titles, weights, color=["C1"] * 8 + ["C0"] * 8)
for i, (weight, a) in enumerate(zip(weights, agreement, strict=True)):
    ax.text(weight, i, f"  {weight:.1%} (agreement {a:.2f})", va="center", size=8)
ax.invert_yaxis()
ax.set(xlabel="weight", xlim=(0, 1.4 * weights.max()))
ax.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# 6. Merged clusters, and confidence
# ----------------------------------
# Left: the weighted share of all partitions that put two samples together. Right: the clusters that average linkage
# finds in it; the fainter a sample, the lower its confidence.
z, each = np.concatenate(partitions), np.repeat(weights, 5)
labels, membership = merge(z, each, 3)
confidence = membership[np.arange(len(X)), labels]

fig, axes = plt.subplots(1, 2, figsize=(9, 3.9), layout="constrained", width_ratios=(1, 1.35))
fig.colorbar(axes[0].imshow(co_association(z, each), cmap="Greys", vmin=0, vmax=1), ax=axes[0], shrink=0.8)
axes[0].set_title("share of partitions that join two samples", size=9)
doubt = np.clip((confidence - 0.5) / (confidence.max() - 0.5), 0.12, 1)
axes[1].scatter(*places.T, s=18, c=[f"C{label}" for label in labels], alpha=doubt)
axes[1].set_title(f"clusters; confidence from {confidence.min():.2f} to {confidence.max():.2f}", size=9)
plt.setp(axes, xticks=[], yticks=[])
plt.show()

# %%
# ``fit`` does the same:
model = WeaveClustering(3, random_state=0).fit(X)
print("the same clusters:", len({*zip(labels.tolist(), model.labels_.tolist(), strict=True)}) == 3)
for version in model.scaling_:
    print(f"{names[version.name]:12} {version.share:.0%} of the weight")

# %%
# 7. The number of clusters
# -------------------------
# How deep the valleys of density between that many clusters are, in a fifth of the graphs and between peaks, and how
# far different graphs agree on them.
auto = WeaveClustering("auto", random_state=0).fit(X)
plot_evidence(auto)
plt.show()

# %%
# 8. Samples without structure
# ----------------------------
# The same for 400 uniform numbers in a square. Where three clusters are asked for, three are returned, but their
# clarity and the confidence are lower.
square = np.random.default_rng(0).uniform(size=(400, 2))
given = WeaveClustering(3, random_state=0).fit(square)
free = WeaveClustering("auto", random_state=0).fit(square)

fig, axes = plt.subplots(1, 2, figsize=(10.5, 3.9), layout="constrained")
for (who, one), colour in zip({"groups": model, "square": given}.items(), ("C0", "C1"), strict=True):
    axes[0].hist(
        one.confidence_,
        np.linspace(0, 1, 21),
        density=True,
        color=colour,
        alpha=0.6,
        label=f"{who}: clarity {one.clarity_:.2f}",
    )
axes[0].set(xlabel="confidence", ylabel="density", title="three clusters asked for")
axes[0].legend(frameon=False)
for k in range(3):
    axes[1].scatter(*square[given.labels_ == k].T, s=18, color=f"C{k}", alpha=0.4)
axes[1].set(title=f"three clusters of the square; chosen number: {free.n_clusters_}", xticks=[], yticks=[])
plt.show()
print(free.cluster_evidence_.words)
