"""SMKL in plain vectorised numpy, as a careful reader of the paper would write it: a yardstick."""

from __future__ import annotations

import numpy as np


def plain_smkl(
    H: np.ndarray, c: int, *, alpha: float, beta: float, gamma: float, max_iter: int, tol: float
) -> tuple[np.ndarray, np.ndarray, int]:
    """Return S, P and the number of iterations of the released scheme, one solve for all columns."""
    n = H.shape[1]
    eye = np.eye(n, dtype=H.dtype)
    S, K = eye, H.mean(axis=0)
    for iteration in range(1, max_iter + 1):
        W = (S + S.T) / 2
        P = np.linalg.eigh(np.diag(W.sum(axis=1)) - W)[1][:, :c]
        w = 1 / (2 * np.sqrt(((H - K) ** 2).sum(axis=(1, 2))))
        p = (P**2).sum(axis=1)
        G = np.sqrt(np.maximum(p[:, None] + p - 2 * P @ P.T, 0))
        new = np.maximum(np.linalg.solve(K + gamma * eye, K - alpha * G / 4), 0)
        new = (new + new.T) / 2
        K = (2 * new.T - new @ new.T - eye + 2 * beta * (w[:, None, None] * H).sum(axis=0)) / (2 * beta * w.sum())
        K = np.maximum(K, 0)
        K = (K + K.T) / 2
        change = np.linalg.norm(new - S) / np.linalg.norm(S)
        S = new
        if iteration > 5 and change < tol:
            break
    return S, P, iteration
