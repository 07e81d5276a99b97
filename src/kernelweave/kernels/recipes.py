"""The paper's kernel sets by name: twelve for clustering, seven for classification; released and printed."""

from __future__ import annotations

from collections.abc import Mapping

from kernelweave.errors import InvalidInputError
from kernelweave.kernels.bank import KernelBank
from kernelweave.kernels.base import Kernel
from kernelweave.kernels.distances import Gaussian
from kernelweave.kernels.normalise import CosineNormalized, DiameterNormalized
from kernelweave.kernels.plugin_kernels import plugin_kernel, plugin_recipe
from kernelweave.kernels.products import Linear, Polynomial

__all__ = ["RECIPES", "is_recipe", "recipe"]


def _released(ts: tuple[float, ...], polynomials: tuple[tuple[int, int], ...]) -> dict[str, Kernel]:
    """Kernels as the program behind the paper's figures builds them: unit diagonals."""
    gaussians: dict[str, Kernel] = {f"gaussian(t={t:g})": Gaussian(t) for t in ts}  # unit diagonal already
    return gaussians | {name: CosineNormalized(kernel) for name, kernel in _products(polynomials).items()}


def _printed(ts: tuple[float, ...], polynomials: tuple[tuple[int, int], ...]) -> dict[str, Kernel]:
    """Kernels as the paper prints them: exp(-d²/(t d_max²)), and all divided by d_max²."""
    gaussians: dict[str, Kernel] = {f"gaussian(t={t:g})": Gaussian((t / 2) ** 0.5) for t in ts}
    return {name: DiameterNormalized(kernel) for name, kernel in (gaussians | _products(polynomials)).items()}


def _products(polynomials: tuple[tuple[int, int], ...]) -> dict[str, Kernel]:
    linear: dict[str, Kernel] = {"linear": Linear()}
    return linear | {f"polynomial(a={a}, b={b})": Polynomial(degree=b, offset=float(a)) for a, b in polynomials}


_TWELVE = (0.01, 0.05, 0.1, 1, 10, 50, 100), ((0, 2), (0, 4), (1, 2), (1, 4))
_SEVEN = (0.1, 1, 10, 100), ((0, 2), (1, 2))

RECIPES: Mapping[str, Mapping[str, Kernel]] = {
    "released-12": _released(*_TWELVE),
    "released-7": _released(*_SEVEN),
    "printed-12": _printed(*_TWELVE),
    "printed-7": _printed(*_SEVEN),
}


def is_recipe(name: str) -> bool:
    """Return whether a name is that of a recipe, here or of a plugin."""
    return name in RECIPES or plugin_recipe(name) is not None


def recipe(name: str) -> KernelBank:
    """Return an unfitted bank by the name of its recipe.

    Parameters
    ----------
    name : {"released-12", "released-7", "printed-12", "printed-7"} or the name of a plugin
        `released` kernels are those of the program behind the paper's figures: Gaussians
        exp(-d²/(2 t² d_max²)) and polynomials, divided by sqrt(K_ii K_jj). `printed` kernels follow the
        paper's text: Gaussians exp(-d²/(t d_max²)) and polynomials, divided by d_max², the largest squared
        distance between two samples. Twelve kernels are the clustering set, seven the classification set.

    Returns
    -------
    KernelBank
        Call its `fit` with the training samples.
    """
    kernels = RECIPES.get(name) or plugin_recipe(name)
    if kernels is not None:
        return KernelBank(kernels)
    kernel = plugin_kernel(name)
    if kernel is None:
        msg = f"Unknown kernel recipe {name!r}: choose one of {', '.join(RECIPES)}, or pass a list of kernels."
        raise InvalidInputError(msg)
    return KernelBank([kernel])
