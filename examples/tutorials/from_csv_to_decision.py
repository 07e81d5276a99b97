"""
From a CSV file to a decision
=============================

A wine merchant has 178 lots with a chemical analysis of each, in a file as spreadsheets write it, and two questions:
do the lots fall into kinds, and of which kind are the lots that arrive next month? This tutorial answers both on the
command line, from the file to the list of lots to taste again. The data are scikit-learn's wines, whose three cultivars
are known; the merchant learns them only at the end.
"""

# %%
# The file
# --------
# Semicolons, decimal commas, a column of lot numbers, one of words, and a few cells that the laboratory left empty.
import subprocess
import sys
from pathlib import Path
from tempfile import mkdtemp

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_wine

import kernelweave
from kernelweave.explain import explain_clusters, explain_sample
from kernelweave.tabular import read_table

rng = np.random.default_rng(0)
wine = load_wine(as_frame=True)
lots = wine.data.mask(rng.random(wine.data.shape) < 0.01)
lots.insert(0, "lot", [f"L{i:03d}" for i in rng.permutation(len(lots))])
lots["closure"] = rng.choice(["cork", "screw cap"], len(lots))
cultivar = wine.target.map({0: "Barolo", 1: "Grignolino", 2: "Barbera"})

folder = Path(mkdtemp())
old = np.arange(len(lots)) % 10 > 0  # every tenth lot arrives next month
lots[old].to_csv(folder / "lots.csv", sep=";", decimal=",", index=False)
lots[~old].to_csv(folder / "new.csv", sep=";", decimal=",", index=False)
print("".join((folder / "lots.csv").open().readlines()[:3]))


# %%
# Look first
# ----------
# ``kernelweave inspect`` computes nothing. It shows how the file is read: the lot numbers are the ids, the
# closure is a category, all else are numbers with a few missing cells. The closure was drawn at random here: no
# measurement is related to it, so it is left out, since clusters could follow it otherwise. If something were unclear,
# the message would have a command to copy that solves it.
def shell(command):
    """Run a command of kernelweave in the folder, and print what it prints."""
    done = subprocess.run(
        [sys.executable, "-m", "kernelweave", *command.split()[1:]], cwd=folder, capture_output=True, text=True
    )
    print(f"$ {command}\n{done.stdout}{done.stderr}".replace(str(folder), "."))


shell("kernelweave inspect lots.csv")

# %%
# Cluster
# -------
# Nothing is chosen by hand, neither a scaling, a kernel nor the number of clusters. The command says why it took this
# number, and which others are worth a look.
shell("kernelweave cluster lots.csv --out kinds --quiet")

# %%
# The kernels that have the largest shares of the weight:
weights = pd.read_csv(folder / "kinds" / "weights.csv")
print(weights.nlargest(3, "share")[["kernel", "share"]].to_string(index=False))

# %%
# Are the clusters clear?
# -----------------------
# Look at two numbers first. ``clarity_`` is 1 if the clusters stand out from those of samples without any
# structure, 0 if they do not. The confidence says how certain the cluster of every lot is.
model = kernelweave.load(folder / "kinds" / "model.kw")
labels = pd.read_csv(folder / "kinds" / "labels.csv", index_col="id")
print(f"clarity {model.clarity_:.2f}")
print(labels["confidence"].describe()[["min", "25%", "50%"]])

# %%
# What are they?
# --------------
# ``features.csv`` has the features that set every cluster apart, in the units of the file. ``report.html`` shows the
# same on its first screen, with a map of the lots.
features = pd.read_csv(folder / "kinds" / "features.csv")
top = features[features["rank"] <= 3]
print(top[["cluster", "feature", "direction", "median_in", "median_out", "separation"]].to_string(index=False))

# %%
# A picture of the same: the means of the telling features in every cluster.
table = read_table(folder / "lots.csv")
ax = kernelweave.plots.plot_features(explain_clusters(model, table.frame))
plt.show()

# %%
# Decide
# ------
# The merchant names the kinds by these features and prices them. Lots that might be of either kind are tasted first:
# those with the lowest confidence.
print(labels.sort_values("confidence").head(6))

# %%
# Why is the first of them uncertain? Its runner-up is the second best cluster; a feature with a negative pull is
# more like those of the runner-up.
doubtful = int(np.argmin(labels["confidence"]))
why = explain_sample(model, table.frame, doubtful)
print(why)

# %%
# Next month
# ----------
# The model stores how its table was read. The new file may have its columns in another order, and others beside
# them.
shell("kernelweave predict kinds/model.kw new.csv --out new-labels.csv --quiet")
arrived = pd.read_csv(folder / "new-labels.csv", index_col="id")
print(arrived.head())

# %%
# Compare with the cultivars
# --------------------------
# The grower tells the cultivars at last. They are metadata: they had no part in finding the clusters.
truth = pd.DataFrame({"lot": lots["lot"], "cultivar": cultivar})
truth.to_csv(folder / "growers.csv", index=False)
shell("kernelweave cluster lots.csv --metadata growers.csv --out kinds --force --quiet")
print(pd.read_csv(folder / "kinds" / "metadata.csv").round(3).to_string(index=False))
found = arrived.join(truth.set_index("lot"))
print(pd.crosstab(found["label"], found["cultivar"]))
