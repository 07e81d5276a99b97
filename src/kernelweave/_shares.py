"""Shares in percent, rounded so that only shares of 0 and 1 are 0% and 100%."""

from __future__ import annotations

__all__ = ["percent"]

_ROUNDING = 1e-12  # the only share of a sum may miss 1 by this much


def percent(share: float, digits: int = 0) -> str:
    """Return a share in percent, such as 42%; one that is not 0 or 1 is never 0% or 100%, but < 1% or > 99%."""
    least = 10.0 ** -(digits + 2)
    if 0 < share < 1 - _ROUNDING:
        if f"{share:.{digits}%}" == f"{0:.{digits}%}":
            return f"< {least:.{digits}%}"
        if f"{share:.{digits}%}" == f"{1:.{digits}%}":
            return f"> {1 - least:.{digits}%}"
    return f"{share:.{digits}%}"
