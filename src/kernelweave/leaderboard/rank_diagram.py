"""The diagram of critical differences: mean ranks on a line, with bars over methods that do not differ."""

from __future__ import annotations

from collections.abc import Callable
from html import escape

from kernelweave._plural import counted
from kernelweave.leaderboard.standings import Standings

__all__ = ["cliques", "draw_ranks"]

_WIDTH, _MARGIN, _TOP, _STEP = 760, 190, 74, 20


def cliques(ranks: list[float], distance: float) -> list[tuple[int, int]]:
    """Return the longest runs of methods, first and last, whose mean ranks differ by less than the distance.

    Examples
    --------
    >>> cliques([1.0, 2.0, 3.5, 6.0], 2.0)
    [(0, 1), (1, 2)]
    """
    runs: list[tuple[int, int]] = []
    for i, first in enumerate(ranks):
        last = max(j for j, rank in enumerate(ranks) if rank - first < distance or j == i)
        if last > i and (not runs or last > runs[-1][1]):
            runs.append((i, last))
    return runs


def draw_ranks(found: Standings) -> str:
    """Return the diagram as SVG in the colour of the text around it.

    Parameters
    ----------
    found : Standings
        The methods, the best first.

    Returns
    -------
    svg : str
    """
    ranks = [row.rank for row in found.rows]
    k = len(ranks)
    half = (k + 1) // 2
    bars = cliques(ranks, found.distance)
    top = _TOP + 9 * len(bars)
    height = top + _STEP * half + 16
    span = _WIDTH - 2 * _MARGIN

    def x(rank: float) -> float:
        return _MARGIN + span * (rank - 1) / max(k - 1, 1)

    parts = [_axis(k, x), _distance_bar(found.distance, x, k)]
    for row, (first, last) in enumerate(bars):
        y = _TOP - 12 + 9 * row
        parts.append(
            f'<line x1="{x(ranks[first]) - 3:.1f}" x2="{x(ranks[last]) + 3:.1f}" y1="{y}" y2="{y}" class="clique"/>'
        )
    for i, standing in enumerate(found.rows):
        left = i < half
        y = top + _STEP * (i if left else k - 1 - i)
        parts.append(_label(f"{standing.method}", standing.rank, x(standing.rank), y, left=left))
    words = (
        f"Mean ranks of {k} methods on {counted(len(found.datasets), 'data set')}; "
        f"critical distance {found.distance:.2f}."
    )
    return (
        f'<svg viewBox="0 0 {_WIDTH} {height}" role="img" class="ranks" font-size="12" fill="currentColor">'
        f"<title>{words}</title><style>.ranks line{{stroke:currentColor}}.ranks .clique{{stroke-width:4}}</style>"
        f"{''.join(parts)}</svg>"
    )


def _axis(k: int, place: Callable[[float], float]) -> str:
    ticks = "".join(
        f'<line x1="{place(r):.1f}" x2="{place(r):.1f}" y1="50" y2="56"/>'
        f'<text x="{place(r):.1f}" y="46" text-anchor="middle">{r}</text>'
        for r in range(1, k + 1)
    )
    return f'<line x1="{place(1):.1f}" x2="{place(k):.1f}" y1="56" y2="56"/>{ticks}'


def _distance_bar(distance: float, place: Callable[[float], float], k: int) -> str:
    start, end = place(1), place(min(1 + distance, k))
    return (
        f'<line x1="{start:.1f}" x2="{end:.1f}" y1="20" y2="20"/>'
        f'<line x1="{start:.1f}" x2="{start:.1f}" y1="16" y2="24"/>'
        f'<line x1="{end:.1f}" x2="{end:.1f}" y1="16" y2="24"/>'
        f'<text x="{(start + end) / 2:.1f}" y="12" text-anchor="middle">critical distance {distance:.2f}</text>'
    )


def _label(name: str, rank: float, at: float, y: float, *, left: bool) -> str:
    end = _MARGIN - 10 if left else _WIDTH - _MARGIN + 10
    anchor = "end" if left else "start"
    text = f"{rank:.2f} {escape(name)}" if not left else f"{escape(name)} {rank:.2f}"
    shift = -4 if left else 4
    return (
        f'<line x1="{at:.1f}" x2="{at:.1f}" y1="56" y2="{y}"/><line x1="{at:.1f}" x2="{end}" y1="{y}" y2="{y}"/>'
        f'<text x="{end + shift}" y="{y + 4}" text-anchor="{anchor}">{text}</text>'
    )
