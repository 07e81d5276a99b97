"""A kernel, and a recipe of three of them.

A kernel is a frozen dataclass, so that it can be saved in a model file. All its parameters have defaults, since a user
may name it by a word.
"""

from dataclasses import dataclass, field, replace

import numpy as np

from kernelweave.errors import InvalidInputError
from kernelweave.kernels import Kernel

__all__ = ["THREE_WIDTHS", "Cauchy"]


@dataclass(frozen=True, slots=True)
class Cauchy(Kernel):
    """Cauchy kernel whose width is relative to the largest distance of the training samples."""

    t: float = 0.1
    diameter: float | None = field(default=None, repr=False)

    def fix(self, pair):
        """Take the largest distance from the training samples."""
        return replace(self, diameter=float(np.sqrt(pair.sqdist.max())))

    def of_products(self, products):
        """Return the decay with distance."""
        if self.diameter is None:
            msg = f"{self} has no scale yet: call kernel.fit(X) on the training samples."
            raise InvalidInputError(msg)
        return 1 / (1 + products.sqdist * products.sqdist.dtype.type((self.t * self.diameter) ** -2))

    def diag(self, X):
        """Return one per sample."""
        return np.ones(X.shape[0], dtype=X.dtype)


THREE_WIDTHS = {f"cauchy(t={t:g})": Cauchy(t) for t in (0.03, 0.1, 0.3)}
