"""What a notebook shows of a fitted model: scikit-learn's diagram, and below it sizes, weights and outcome."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from kernelweave._plural import counted
from kernelweave._shares import percent

__all__ = ["summary_html"]

_KERNELS = 8  # so many bars; the rest share a line
_GROUPS = 30
_STYLE = "font:13px/1.5 system-ui,sans-serif;max-width:40em;margin:.4em 0;color:inherit"


def summary_html(model: BaseEstimator) -> str:
    """Return what a fitted model found as a fragment of HTML; nothing of one that is not fitted."""
    labels = getattr(model, "labels_", None)
    kind = "cluster"
    if labels is None:
        labels, kind = getattr(model, "transduction_", None), "class"
    if labels is None:
        return ""
    parts = [_sizes(np.asarray(labels), kind)]
    if hasattr(model, "kernel_shares_") and len(model.kernel_shares_) > 1:
        parts.append(_bars(model.kernel_names_, np.asarray(model.kernel_shares_, dtype=float)))
    if (outcome := getattr(model, "outcome_", None)) is not None:
        parts.append(f"<div>{counted(int(model.n_iter_), 'iteration')}: {escape(str(outcome.value))}</div>")
    return f'<div style="{_STYLE}">{"".join(parts)}</div>'


def _sizes(labels: Any, kind: str) -> str:
    names, sizes = np.unique(labels, return_counts=True)
    order = np.argsort(-sizes, kind="stable")
    shown = ", ".join(f"{escape(str(names[k]))}: {sizes[k]}" for k in order[:_GROUPS])
    more = f", and {len(names) - _GROUPS} more" if len(names) > _GROUPS else ""
    return (
        f"<div><strong>{counted(len(labels), 'sample')} in {counted(len(names), kind)}</strong> ({shown}{more})</div>"
    )


def _bars(names: Any, shares: Any) -> str:
    order = np.argsort(-shares, kind="stable")
    longest = float(shares.max()) or 1.0
    rows = "".join(_bar(str(names[i]), float(shares[i]), longest) for i in order[:_KERNELS])
    rest = float(shares[order[_KERNELS:]].sum())
    more = (
        f"<tr><td colspan=3>{counted(len(shares) - _KERNELS, 'more kernel')}: {escape(percent(rest, 1))}</td></tr>"
        if len(shares) > _KERNELS
        else ""
    )
    head = "<caption style='text-align:left'>Share of every kernel</caption>"
    return f'<table style="border-collapse:collapse;font:inherit">{head}<tbody>{rows}{more}</tbody></table>'


def _bar(name: str, share: float, longest: float) -> str:
    width = round(100 * share / longest)
    bar = f'<div style="background:#0072B2;height:.7em;min-width:1px;width:{width}%"></div>'
    return (
        f'<tr><th scope="row" style="text-align:left;font-weight:400;padding:0 1em 0 0">{escape(name)}</th>'
        f'<td style="width:12em">{bar}</td><td style="text-align:right">{escape(percent(share, 1))}</td></tr>'
    )
