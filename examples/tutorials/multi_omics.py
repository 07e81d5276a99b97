"""
Multi-omics: three tables of the same patients
==============================================

mRNA, miRNA and protein levels of 150 breast cancer patients: do they separate the subtypes, which of the tables matters
most, and what changes if some patients lack a table?

The data are breast.TCGA of the R package mixOmics, stored as ``breast_tcga.npz`` (arrays ``X0``, ``X1``, ``X2`` and
``y``) in the folder that ``KERNELWEAVE_DATA`` names or in ``extra`` beside it. If there is no such file, this page uses
scikit-learn's digits instead: their pixels, Fourier coefficients, and sums of rows and columns.
"""

# %%
import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from kernelweave import SMKLClustering, Views, WeaveClustering, view_importance
from kernelweave.metrics import normalized_mutual_information
from kernelweave.plots import plot_view_importance, plot_weights

folder = Path(os.environ.get("KERNELWEAVE_DATA", "."))
found = [path for path in (folder / "breast_tcga.npz", folder.parent / "extra" / "breast_tcga.npz") if path.exists()]
if found:
    with np.load(found[0]) as file:
        tables = {name: file[f"X{i}"] for i, name in enumerate(("mrna", "mirna", "protein"))}
        subtype = file["y"]
else:
    print("There is no breast_tcga.npz: these are scikit-learn's digits in three views.")
    X, subtype = (part[:600] for part in load_digits(return_X_y=True))
    images = X.reshape(-1, 8, 8)
    tables = {
        "pixels": X,
        "fourier": np.abs(np.fft.rfft2(images)).reshape(len(X), -1),
        "sums": np.hstack([images.sum(axis=1), images.sum(axis=2)]),
    }
views = Views(tables)
c = len(np.unique(subtype))
print(views)

# %%
# All tables together
# -------------------
# Every table has its own scaling and its own kernels; the weights are learned over the kernels of all tables.
weave = WeaveClustering(c, random_state=0).fit(views)
print(f"WeaveClustering, all views: NMI {normalized_mutual_information(subtype, weave.labels_):.3f}")
smkl = SMKLClustering(c, random_state=0).fit(views)
print(f"SMKLClustering, all views: NMI {normalized_mutual_information(subtype, smkl.labels_):.3f}")
for name in views.names:
    single = WeaveClustering(c, random_state=0).fit(views.only([name]))
    print(f"WeaveClustering, {name} only: NMI {normalized_mutual_information(subtype, single.labels_):.3f}")
plot_weights(weave)
plt.show()

# %%
# Patients who lack a table
# -------------------------
# Now 30 % of the patients lack one of the three tables. They are clustered by the other two.
rng = np.random.default_rng(0)
lacking = rng.choice(views.n_samples, round(0.3 * views.n_samples), replace=False)
which = rng.integers(len(views.names), size=len(lacking))
gaps = Views(tables, missing={name: lacking[which == i] for i, name in enumerate(views.names)})
labels = WeaveClustering(c, random_state=0).fit(gaps).labels_
print(f"WeaveClustering, with gaps: NMI {normalized_mutual_information(subtype, labels):.3f}")

# %%
# Which table mattered?
# ---------------------
# The share of every table in the consensus, how stable the share is, and what changes without the table. The score is
# the NMI with the subtypes, which are not used in the fit.
importance = view_importance(WeaveClustering(c, random_state=0), views, subtype, n_resamples=5, random_state=0)
print(importance)
plot_view_importance(importance)
plt.show()
