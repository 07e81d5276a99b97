"""The number of clusters without labels: several graphs of the samples, compared with samples without structure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from kernelweave._plural import counted, listed
from kernelweave.core.graphs.coordinates import eigenvalue_gaps
from kernelweave.core.partitions.valleys import APART

__all__ = [
    "CLEAR",
    "DEEP",
    "SHOWN",
    "VALLEY",
    "WIDE",
    "ClusterEvidence",
    "Found",
    "candidate_numbers",
    "cluster_evidence",
]

Found: TypeAlias = Literal["gap", "agreement", "valleys", "mixture", "nothing", "too few"]

CLEAR = 1.75  # the gap that decides; those of noise were at most 1.7 with 400 samples, but up to 1.93 with 178
WIDE = 6.0  # the same in few columns, where nothing is compared with it; that of samples along a line is 4
_MORE = 0.2  # agreement above that of samples without structure which counts as structure; noise was at most 0.17
_NEARLY_BEST = 0.05  # a smaller number of clusters is taken if its score is this near to the best
_NEARLY_LARGEST = 0.1  # the same of gaps, in few columns
DEEP = 0.65  # valleys between peaks of density that show structure; those of noise are rarely deeper than 0.6
SHOWN = 0.4  # the same if a mixture of clusters of one shape shows structure too
VALLEY = 0.1  # the depth of valleys, less their error, in a fifth of the graphs: enough if there is structure
_MANY = 0.8  # quantile of the graphs: a fifth of them is enough, since not every graph suits the data
_NEARLY_AS_LIKELY = 5.0  # below the largest log odds
_DRAWN = (-1.0, 3.0)  # the smallest and the largest depth that is drawn
_MOST = 50
_FEWEST_MEMBERS = 8  # samples per cluster, on average, below which a number is not tried
_EVERY_UP_TO = 24


@dataclass(frozen=True, slots=True)
class ClusterEvidence:
    """The evidence for each number of clusters, and the number that was chosen.

    Parameters
    ----------
    n_clusters : array of shape (n_candidates,)
        The numbers that were tried.
    gap : array of shape (n_candidates,)
        How far the eigenvalue after this number stands out: λ_{k+1}/λ_k, relative to samples without structure, for
        which it is 1. It is the ratio itself where `clear` is above 1.75: where `depth` is measured, with precomputed
        kernels, and in the graph of all samples that the solver "local" builds. Graphs in which one of the clusters is
        smaller than a tenth of the mean size, which may be a few outliers, have none.
    agreement : array of shape (n_candidates,)
        How far the partitions of different graphs agree, as the mean adjusted Rand index.
    modularity : array of shape (n_candidates,)
        The share of the graphs' weight within clusters, less what chance would put there.
    score : array of shape (n_candidates,)
        (agreement - chance) · modularity, where it is positive; agreement · modularity if `chance` is unknown.
    chance : array of shape (n_candidates,)
        The largest agreement that samples without structure reach with about as many clusters; NaN if there are none to
        compare with.
    clear : float
        The gap that is enough to decide.
    chosen : int
        The number with the largest gap, if one is clear. Otherwise the smallest number whose score is within 5 % of the
        best; but 1 if its agreement is not at least 0.2 above `chance` there. In few columns, any cut through a dense
        region is agreed on, so that valleys decide where they are measured: it is the number with the largest
        `peak_depth`, or the largest number with a `depth` of 0.1, whichever is larger; but 1 if no `peak_depth` reaches
        0.65. But if a `peak_depth` reaches 0.4, and clusters of one shape describe the samples better than clusters of
        any shapes, it is the number with the largest `shared_shape`. If the largest gap reaches 6, its number is taken
        where it is larger: clusters that are far apart in one column have no valleys among the neighbours in many.
        Where no valleys are measured, it is the smallest number whose gap is within 10 % of the largest.
    found : {"gap", "agreement", "valleys", "mixture", "nothing", "too few"}
        What decided, "valleys" where a mixture has the same number; "nothing" means that no structure was found, and
        "too few" that none was found in so few distinct samples that two clusters would have fewer than 8 each.
    depth : array of shape (n_candidates,), or None
        How deep the shallowest valley between two clusters is: the logarithm of how much denser samples lie within the
        clusters than where they touch, less one standard error, and 10 where no clusters touch. A fifth of the graphs
        have at least this depth. It is measured in one to nine columns, and None otherwise.
    peak_depth : array of shape (n_candidates,), or None
        The same of the partition by as many peaks of the density of the samples, without the standard error; NaN where
        there are fewer peaks, or where one of the clusters would be smaller than a tenth of the mean size.
    shared_shape : array of shape (n_candidates,), or None
        How much better a mixture of Gaussians with a common covariance describes the samples than any with single ones:
        about the logarithm of a Bayes factor, half the difference of BIC, less 1 for every further cluster. NaN where
        no mixture has as many clusters, where the samples of its clusters have other tails than Gaussians, or where a
        column has fewer than ten different values. It is measured where `depth` is.
    n_distinct : int or None
        The number of distinct samples, None if it is not known.
    n_counted : int or None
        The number of samples in which clusters were counted, drawn at random, None for all.
    """

    n_clusters: npt.NDArray[np.intp]
    gap: npt.NDArray[Any]
    agreement: npt.NDArray[Any]
    modularity: npt.NDArray[Any]
    score: npt.NDArray[Any]
    chance: npt.NDArray[Any]
    clear: float
    chosen: int
    found: Found
    depth: npt.NDArray[Any] | None = None
    peak_depth: npt.NDArray[Any] | None = None
    shared_shape: npt.NDArray[Any] | None = None
    n_distinct: int | None = None
    n_counted: int | None = None

    @property
    def runners_up(self) -> tuple[int, ...]:
        """The other numbers that are worth a look, the best first, at most three.

        These are peaks of the gap at least half as clear as needed if a gap decided, other numbers with valleys between
        the clusters, the largest first, if valleys decided, numbers with log odds at most 5 below the largest
        if a mixture decided, or peaks of the score within a tenth of the best.
        """
        by_gap = self.found == "gap"
        if self.found == "mixture" and self.shared_shape is not None:
            least = max(0.0, float(np.nanmax(self.shared_shape)) - _NEARLY_AS_LIKELY)
            near = np.flatnonzero(self.shared_shape > least)
            likely = self.n_clusters[near[np.argsort(-self.shared_shape[near], kind="stable")]]
            return tuple(int(k) for k in likely if k != self.chosen)[:3]
        if self.depth is not None and self.peak_depth is not None and not by_gap:
            others = self.n_clusters[_with_valleys(self.depth, self.peak_depth)][::-1]
            return tuple(int(k) for k in others if k != self.chosen)[:3]
        merit = self.gap if by_gap else self.score
        least = (1 + self.clear) / 2 if by_gap else 0.9 * float(merit.max())
        padded = np.r_[-np.inf, merit, -np.inf]
        peaks = np.flatnonzero((merit >= padded[:-2]) & (merit >= padded[2:]) & (merit >= least))
        best = [int(self.n_clusters[i]) for i in peaks[np.argsort(-merit[peaks], kind="stable")]]
        return tuple(k for k in best if k != self.chosen)[:3]

    @property
    def curves(self) -> tuple[tuple[str, npt.NDArray[Any], float], ...]:
        """What decides, for drawing: names, values by number of clusters, and the value that is enough.

        Depths are drawn between -1 and 3, log odds as far below 0 as the largest is above it; both are NaN
        where there are none.
        """
        if self.found == "mixture" and self.shared_shape is not None:
            lowest = -float(np.nanmax(self.shared_shape))
            return (("clusters of one shape", np.maximum(self.shared_shape, lowest), 0.0),)
        if self.found == "gap" or self.depth is None or self.peak_depth is None:
            return (("gap", self.gap, self.clear),)
        drawn = (("valleys", self.depth, VALLEY), ("valleys between peaks", self.peak_depth, DEEP))
        return tuple((name, np.clip(values, *_DRAWN), enough) for name, values, enough in drawn)

    @property
    def measured(self) -> str:
        """What the curves measure."""
        if self.found == "mixture":
            return "log odds"
        return "gap" if self.found == "gap" or self.depth is None else "depth of valleys"

    @property
    def words(self) -> str:
        """Why this number was chosen, and how sure it is, as a sentence."""
        counted_in = "" if self.n_counted is None else f" (counted in {self.n_counted} samples drawn at random)"
        return self._why() + counted_in

    def _also(self) -> str:
        """Return what is said of the runners-up; those with a smaller gap, or with valleys, may be far from as good."""
        others = [str(k) for k in self.runners_up]
        if not others:
            return ""
        if self.found in ("gap", "valleys"):
            return f"; {listed(others)} {'is' if len(others) == 1 else 'are'} worth a look too"
        return f"; {listed(others, 'or')} would be nearly as good"

    def _why(self) -> str:
        also = self._also()
        if self.found == "too few" and self.n_distinct is not None:
            distinct = counted(self.n_distinct, "distinct sample")
            return f"no structure was found: {distinct} are too few to tell clusters apart"
        if self.found == "nothing" and self.depth is not None:
            return "no structure was found: samples are about as dense between clusters as within them"
        if self.found == "nothing":
            return (
                "no structure was found: graphs of the samples hardly agree more on clusters than graphs of samples "
                "without structure"
            )
        place = int(np.flatnonzero(self.n_clusters == self.chosen)[0])
        if self.found == "gap" and self.clear > CLEAR:  # not compared with samples without structure
            few = f"few edges of the graphs join them (the gap between eigenvalues is {self.gap[place]:.1f})"
            return f"{self.chosen} clusters stand out: {few}{also}"
        if self.found == "gap":
            size = f"the gap between eigenvalues is {self.gap[place]:.1f} times that of samples without structure"
            return f"{self.chosen} clusters stand out ({size}){also}"
        if self.found == "mixture" and self.shared_shape is not None:
            return (
                f"{self.chosen} clusters stand out: Gaussian ones of one shape describe the samples better than any of "
                f"different shapes (log odds {self.shared_shape[place]:.0f}){also}"
            )
        if self.depth is not None and self.peak_depth is not None:
            return f"{self.chosen} clusters {_apart(float(np.fmax(self.depth, self.peak_depth)[place]))}{also}"
        how = "well" if self.agreement[place] >= 0.8 else "fairly well" if self.agreement[place] >= 0.6 else "weakly"
        return (
            f"graphs of the samples agree {how} on {self.chosen} clusters (adjusted Rand index "
            f"{self.agreement[place]:.2f}), but no number stands out{also}"
        )


def candidate_numbers(n_samples: int) -> list[int]:
    """Return the numbers of clusters worth trying: every one up to 24, then every fourth, up to 50 or n/8."""
    most = max(2, min(_MOST, n_samples // _FEWEST_MEMBERS))
    return sorted({*range(2, min(_EVERY_UP_TO, most) + 1), *range(_EVERY_UP_TO + 4, most + 1, 4), most})


def cluster_evidence(
    agreement: Mapping[int, float],
    modularity: Mapping[int, float],
    eigenvalues: Sequence[npt.NDArray[Any]],
    without: Sequence[npt.NDArray[Any]] | None = None,
    by_chance: Sequence[Mapping[int, float]] = (),
    *,
    few_columns: bool = False,
    depths: Mapping[int, Sequence[float]] | None = None,
    peak_depths: Mapping[int, float] | None = None,
    shared_shapes: Mapping[int, float] | None = None,
    even: Mapping[int, Sequence[bool]] | None = None,
    n_distinct: int | None = None,
) -> ClusterEvidence:
    """Weigh the evidence for each number of clusters.

    Parameters
    ----------
    agreement, modularity : mapping of number of clusters to float
        Of the partitions of several graphs.
    eigenvalues : sequence of arrays
        The smallest eigenvalues of each graph's Laplacian, ascending, in units of its mean degree.
    without : sequence of arrays, or None
        The same of the graphs of samples without structure; None if there are none to compare with, as with precomputed
        kernels: the gap is then the ratio of the eigenvalues itself.
    by_chance : sequence of mappings of number of clusters to float
        The agreement of the partitions of samples without structure, for some of the numbers.
    few_columns : bool
        Whether the samples have fewer than ten columns.
    depths : mapping of number of clusters to sequence of float, or None
        How deep the shallowest valley between clusters is in the partition of each graph. Valleys decide if given.
    peak_depths : mapping of number of clusters to float, or None
        The same in partitions by peaks of density, for the numbers that have one.
    shared_shapes : mapping of number of clusters to float, or None
        Log odds of mixtures of clusters of one shape, for the numbers that have one; 1 may be among them.
    even : mapping of number of clusters to sequence of bool, or None
        Whether no cluster is small in the partition of each graph: only such graphs have a gap.
    n_distinct : int or None
        The number of distinct samples, None if it is not known. If it is small, this is why nothing was found.

    Returns
    -------
    ClusterEvidence
    """
    numbers = np.array(sorted(agreement))
    chosen: int
    found: Found
    counted_in = None if even is None else np.array([even[k] for k in numbers]).T
    gap = eigenvalue_gaps(eigenvalues, without, numbers, counted_in)
    a, m = (np.array([float(found[k]) for k in numbers]) for found in (agreement, modularity))
    chance = np.array([_chance(by_chance, k) for k in numbers])
    score = np.maximum(np.where(np.isnan(chance), a, a - chance), 0) * np.maximum(m, 0)
    clear = CLEAR if without is not None else 2 * CLEAR
    nothing: Found = "nothing" if n_distinct is None or n_distinct >= 2 * _FEWEST_MEMBERS else "too few"
    if depths is not None:
        depth = np.array([np.quantile(depths[k], _MANY) for k in numbers])
        peak_depth = np.array([float((peak_depths or {}).get(int(k), np.nan)) for k in numbers])
        shape = np.array([float((shared_shapes or {}).get(int(k), np.nan)) for k in numbers])
        which = numbers[_with_valleys(depth, peak_depth)]
        chosen, found = (int(which[-1]), "valleys") if len(which) else (1, nothing)
        likely = max((shared_shapes or {}).get(1, 0.0), 0.0) < _largest(shape) and _largest(peak_depth) >= SHOWN
        if likely and numbers[np.nanargmax(shape)] != chosen:
            chosen, found = int(numbers[np.nanargmax(shape)]), "mixture"
        widest = int(numbers[gap.argmax()])
        if gap.max() >= WIDE and widest > chosen and nothing != "too few":  # a few samples have gaps by chance
            chosen, found = widest, "gap"
        measured = (depth, peak_depth, shape, n_distinct)
        return ClusterEvidence(numbers, gap, a, m, score, chance, WIDE, chosen, found, *measured)
    if gap.max() >= clear:
        chosen, found = int(numbers[gap.argmax()]), "gap"
    else:
        place = int(np.argmax(score >= (1 - _NEARLY_BEST) * score.max()))
        enough = not a[place] < chance[place] + _MORE  # true where there is nothing to compare with
        if few_columns and without is not None:
            place = int(np.argmax(gap >= (1 - _NEARLY_LARGEST) * gap.max()))
        chosen, found = (int(numbers[place]), "agreement") if enough else (1, nothing)
    return ClusterEvidence(numbers, gap, a, m, score, chance, clear, chosen, found, n_distinct=n_distinct)


def _with_valleys(depth: npt.NDArray[Any], peak_depth: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """Return which numbers of clusters have valleys between them; none if no peaks of density stand out."""
    deepest = _largest(peak_depth)
    return np.asarray((deepest >= DEEP) & ((peak_depth == deepest) | (depth >= VALLEY)))


def _largest(values: npt.NDArray[Any]) -> float:
    """Return the largest value that is not NaN, -inf if there is none."""
    return float(np.max(values, initial=-np.inf, where=np.isfinite(values)))


def _apart(depth: float) -> str:
    """Say how far clusters are apart, by the depth of the shallowest valley between them."""
    if depth >= APART:
        return "lie apart: no sample has a neighbour in another cluster"
    return f"stand out: samples are {np.exp(depth):.1f} times denser within them than where two of them touch"


def _chance(by_chance: Sequence[Mapping[int, float]], k: int) -> float:
    """Return the largest agreement by chance for about k clusters: the number nearest to k, and those beside it."""
    found = []
    for one in by_chance:
        tried = np.array(sorted(one))
        place = int(np.abs(tried - k).argmin())
        found += [one[int(near)] for near in tried[max(place - 1, 0) : place + 2]]
    return max(found, default=float("nan"))
