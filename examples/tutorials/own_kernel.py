"""
A kernel of your own
====================

If you know how to measure the similarity of two of your samples, write it as a kernel, add it to the others, and see
how much weight it gets.
"""

# %%
# The quick way: a function of two samples
# ----------------------------------------
from dataclasses import dataclass

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from kernelweave import WeaveClustering
from kernelweave.kernels import Gaussian, Kernel, Polynomial
from kernelweave.metrics import clustering_accuracy
from kernelweave.plots import plot_weights

X, digit = (part[:400] for part in load_digits(return_X_y=True))


def overlap(x, y):
    """Return the ink that two images share."""
    return np.minimum(x, y).sum() / 100


model = WeaveClustering(10, kernels=[overlap, Gaussian(t=0.3), Polynomial(degree=2)], random_state=0).fit(X)
print(dict(zip(model.kernel_names_, model.kernel_shares_.round(2).tolist(), strict=True)))

# %%
# The fast way: a class
# ---------------------
# A function is called for each of the n² pairs. A kernel class evaluates all samples at once. It is a frozen dataclass
# with two methods: ``evaluate`` takes a pair of sample tables, whose inner products and squared distances are shared
# with the other kernels of the bank (``pair.inner``, ``pair.sqdist``); ``diag`` returns the kernel of every sample with
# itself.


@dataclass(frozen=True)
class SharedInk(Kernel):
    """The overlap of two images, relative to the ink of both."""

    power: float = 1.0

    def evaluate(self, pair):
        """Return the overlap of every row of X with every row of Y."""
        shared = np.stack([np.minimum(x, pair.Y).sum(axis=1) for x in pair.X])
        ink = np.sqrt(np.outer(pair.X.sum(axis=1), pair.Y.sum(axis=1)))
        return (shared / np.maximum(ink, 1e-12)) ** self.power

    def diag(self, X):
        """Return one for every image: it shares all its ink with itself."""
        return np.ones(X.shape[0])


bank = {"ink": SharedInk(), "ink, squared": SharedInk(power=2), "near": Gaussian(t=0.1), "far": Gaussian(t=1)}
model = WeaveClustering(10, kernels=bank, scale="none", random_state=0).fit(X)
print(f"accuracy {clustering_accuracy(digit, model.labels_):.3f}")
plot_weights(model)
plt.show()

# %%
# Sums and products of kernels are kernels: ``2 * SharedInk() + Gaussian(t=1)``. A kernel with constants that depend on
# the data, such as a bandwidth in units of the diameter, also implements ``fix``: see "Add a kernel" in
# :doc:`/contributing`.
