"""
A million rows
==============

A kernel matrix of a million samples would take eight terabytes. Two ways lead around it: a *local* graph of near
neighbours, which needs the samples in memory, and *landmarks*, which read them in one stream from wherever they are.
``solver="auto"`` takes the one that fits. This page takes 100,000 rows, to be built in seconds; set ``N``
to 1,000,000, and the same lines run on a laptop. :doc:`/scaling` has the measured times.
"""

# %%
# Rows on disk
# ------------
# Ten clusters in 20 dimensions, written to a file and opened as a memory map: the rows are read when they are needed.
import tempfile
from pathlib import Path
from time import perf_counter

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
# The model is learned on a sample, its landmarks and their kernels; then every row is read once and gets its label.
begun = perf_counter()
model = WeaveClustering(10, solver="landmark", random_state=0).fit(rows)
print(f"{perf_counter() - begun:.0f} s for {N:,} rows")
print(f"agreement with the truth (adjusted Rand index): {adjusted_rand_score(truth, model.labels_):.3f}")
print(dict(zip(model.kernel_names_, model.kernel_shares_.round(3).tolist(), strict=True)))

# %%
# New rows are assigned in the same stream:
new, new_truth = make_blobs(5_000, n_features=20, centers=10, cluster_std=4.0, random_state=0)
print(f"{adjusted_rand_score(new_truth, model.predict(new.astype(np.float32))):.3f}")

# %%
# On a cluster of machines
# ------------------------
# A dask array in place of the memory map is all there is to change (``pip install "kernelweave[dask]"``). Learning and
# reading then run on the workers of the ``Client``, and the labels are the same as here:
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
