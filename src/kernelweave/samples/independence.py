"""Tests whether columns are independent of a column of classes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.special import chdtrc

from kernelweave._types import Labels, Matrix, Vector

__all__ = ["class_indicators", "joint_p_values", "rank_p_values", "without_rare"]

_RARE = 5  # samples: the tests are of many in every class


def rank_p_values(codes: Labels, ranks: Matrix) -> Vector:
    """Return the p-value of the test of Kruskal and Wallis (1952) for every column of ranks, 1 where nothing differs.

    H = (m - 1) Σ_g n_g (r_g - r)² / Σ_i (r_i - r)² over the m samples whose class, not -1, and rank, not NaN, are
    known; n_g of them have class g, r_g is their mean rank.
    """
    Y, _ = class_indicators([codes])
    known = (codes >= 0)[:, None] & ~np.isnan(ranks)
    m, n = known.sum(axis=0), Y.T @ known
    E = np.where(known, ranks - np.sum(ranks, axis=0, where=known) / np.maximum(m, 1), 0)
    between = np.divide((Y.T @ E) ** 2, n, out=np.zeros_like(n), where=n > 0).sum(axis=0)
    total, freedom = (E**2).sum(axis=0), np.count_nonzero(n, axis=0) - 1
    H = np.divide((m - 1) * between, total, out=np.zeros_like(total), where=total > 0)
    return np.where(freedom > 0, chdtrc(np.maximum(freedom, 1), H), 1.0)


def joint_p_values(codes: Labels, indicators: Matrix, starts: Labels) -> Vector:
    """Return the p-value of Pearson's test of independence of every column of classes, given as indicators.

    χ² = Σ_gh (N_gh - E_gh)² / E_gh, N_gh the number of samples with code g that have code h in the other column, and
    E_gh = N_g. N_.h / N_.. the number expected. It is 1 where the codes or the column are constant.
    """
    Y, _ = class_indicators([codes])
    N = Y.T @ indicators
    of = np.repeat(np.arange(len(starts)), np.diff([*starts, N.shape[1]]))  # the column of each indicator
    rows, columns = np.add.reduceat(N, starts, axis=1), N.sum(axis=0)
    E = rows[:, of] * columns / np.maximum(rows.sum(axis=0), 1)[of]
    terms = np.divide((N - E) ** 2, E, out=np.zeros_like(E), where=E > 0)
    freedom = (np.count_nonzero(rows, axis=0) - 1) * (np.add.reduceat(columns > 0, starts, dtype=int) - 1)
    chi2 = np.add.reduceat(terms.sum(axis=0), starts)
    return np.where(freedom > 0, chdtrc(np.maximum(freedom, 1), chi2), 1.0)


def class_indicators(columns: Sequence[Labels]) -> tuple[Matrix, Labels]:
    """Return the indicators of several columns of classes side by side, and where those of each column begin.

    A code of -1 is in no class.
    """
    widths = [int(codes.max(initial=0)) + 1 for codes in columns]
    parts = [(codes[:, None] == np.arange(width)).astype(float) for codes, width in zip(columns, widths, strict=True)]
    return np.hstack(parts), np.cumsum([0, *widths[:-1]])


def without_rare(codes: Labels) -> Labels:
    """Return codes in which classes of fewer than five samples are one, or not known if these are too few too."""
    counts = np.bincount(codes[codes >= 0], minlength=1)
    frequent = counts >= _RARE
    new = np.cumsum(frequent) - 1
    new[~frequent] = frequent.sum() if counts[~frequent].sum() >= _RARE else -1
    return np.where(codes >= 0, new[codes], -1)
