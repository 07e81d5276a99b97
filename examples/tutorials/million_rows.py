"""
A million rows
==============

A kernel matrix of a million samples would take eight terabytes. Two solvers avoid it: "local" builds a graph of nearest
neighbours and needs the samples in memory; "landmark" reads the samples in chunks, from memory or from disk.
``solver="auto"`` chooses one that fits. This page uses 100,000 rows, so that it builds in seconds; the same code runs
on a laptop with ``N = 1_000_000``. :doc:`/scaling` has the measured times.
"""

# %%
# Rows on disk
# ------------
# Ten clusters in 20 dimensions, written to a file and opened as a memory map, so that rows are read only when needed.
import tempfile
from pathlib import Path
from time import perf_counter

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from kernelweave import WeaveClustering

N = 100_000
X, truth = make_blobs(N, n_features=20, centers=10, cluster_std=4.0, random_state=0)
folder = tempfile.TemporaryDirectory()
file = Path(folder.name) / "rows.npy"
np.save(file, X.astype(np.float32))
rows = np.load(file, mmap_mode="r")

# %%
# Landmarks
# ---------
# The landmarks and the weights of the kernels are learned on a random part of the rows. Then every row is read once and
# labelled.
begun = perf_counter()
model = WeaveClustering(10, solver="landmark", random_state=0).fit(rows)
print(f"{perf_counter() - begun:.0f} s for {N:,} rows")
print(f"agreement with the truth (adjusted Rand index): {adjusted_rand_score(truth, model.labels_):.3f}")
for name, share in zip(model.kernel_names_, model.kernel_shares_, strict=True):
    print(f"{share:.3f} {name}")

# %%
# What was learned, on every hundredth row: the first two columns, coloured by cluster.
fig, ax = plt.subplots(figsize=(5, 4), layout="constrained")
ax.scatter(X[::100, 0], X[::100, 1], c=model.labels_[::100], s=8, cmap="tab10")
ax.set(xlabel="column 0", ylabel="column 1", title=f"{N:,} rows in 10 clusters")
plt.show()

# %%
# New rows are read in chunks too:
new, new_truth = make_blobs(5_000, n_features=20, centers=10, cluster_std=4.0, random_state=0)
print(f"{adjusted_rand_score(new_truth, model.predict(new.astype(np.float32))):.3f}")

# %%
# On a cluster of machines
# ------------------------
# Pass a dask array instead of the memory map (``pip install "kernelweave[dask]"``). The fit then runs on the workers of
# the ``Client``, and gives the same labels as here:
#
# .. code-block:: python
#
#    from dask.distributed import Client
#    import dask.array as da
#
#    with Client("tcp://scheduler:8786"):  # or Client() for the cores of this machine
#        model = WeaveClustering(10, solver="landmark", random_state=0).fit(da.from_zarr("rows.zarr"))

del rows
folder.cleanup()
