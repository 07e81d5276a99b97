"""Why a figure differs from the published one: one line for every cell, written from evidence in the rows."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kernelweave._plural import counted
from kernelweave.experiments.cells import NEAR, compared, printed_figure
from kernelweave.experiments.leak_figures import leaking_cells
from kernelweave.experiments.published import Figure, Published
from kernelweave.experiments.reading import means_of_sets, read_cells
from kernelweave.experiments.render import DASH, Entry, Table
from kernelweave.experiments.selection import Cell, entries_kept, select_cells, with_full_graph

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Difference", "Evidence", "differences_table", "explain_differences"]

_PUBLISHED_DRAWS = 20
_WAYS = {"none": "as stored", "unit": "unit rows", "zscore": "standardised"}
_RECIPES = {"released-7": "as released", "printed-7": "as printed"}
_OURS = "SMKL"


@dataclass(frozen=True, slots=True)
class Evidence:
    """Rows of other experiments that explain a difference; None where they were not run."""

    leak: pd.DataFrame | None = None  # the released program with its rows misaligned
    restarts: pd.DataFrame | None = None  # chosen settings with single starts of k-means
    planned: dict[tuple[str, str], int] | None = None  # settings in the file, by data set and method
    draws: pd.DataFrame | None = None  # chosen settings on more draws of labels

    def leaking(self) -> dict[tuple[str, int | None], float]:
        """Return the accuracy of the released program with misaligned rows, by data set and share of labels."""
        cells = {} if self.leak is None else leaking_cells(self.leak)
        return {place: cell.scores["acc"].mean for place, cell in cells.items()}

    def restarted(self) -> pd.DataFrame | None:
        """Return the single starts, with their settings without the number of starts."""
        if self.restarts is None:
            return None
        frame = read_cells(self.restarts)
        return frame.assign(setting=frame["setting"].map(_without_starts))


@dataclass(frozen=True, slots=True)
class Difference:
    """A figure that differs from the published one by more than `NEAR`, and the reasons found in the rows."""

    cell: Cell
    metric: str
    apart: float
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Case:
    """One difference with the rows of its search."""

    cell: Cell
    metric: str
    ours: float
    printed: Figure
    scale: float
    settings: pd.DataFrame  # one row per setting: mean, on shared draws, runs, settled, preprocessing, recipe
    leaking: float | None
    restarts: pd.DataFrame | None
    planned: int
    draws: pd.DataFrame | None
    full_graph: Cell | None  # of SMKL, where a setting is chosen that keeps only a part of its graph

    @property
    def theirs(self) -> float:
        return self.printed.value / self.scale

    def text(self, score: float) -> str:
        return f"{100 * score:.2f}" if self.scale == 100 else f"{score:.4f}"


def explain_differences(rows: pd.DataFrame, published: Published, evidence: Evidence) -> list[Difference]:
    """Return every figure that differs from the published one by more than `NEAR`, with the reasons.

    Parameters
    ----------
    rows : pandas.DataFrame
        The rows of the experiment.
    published : Published
        The table of the paper.
    evidence : Evidence
        The rows of the experiments that explain differences.

    Returns
    -------
    differences : list of Difference
        In the order of the cells; figures below and above the published ones.
    """
    searches, leaking, restarts = _searches(rows), evidence.leaking(), evidence.restarted()
    draws = None if evidence.draws is None else read_cells(evidence.draws)
    full_graph = with_full_graph(rows)
    found = []
    for cell in select_cells(rows):
        for metric in published.metrics:
            apart, printed = compared(cell, metric, published), printed_figure(cell, metric, published)
            if apart is None or printed is None or abs(apart) <= NEAR:
                continue
            settings = searches[(cell.dataset, cell.method, cell.labels)]
            case = _Case(
                cell,
                metric,
                cell.scores[metric].mean,
                printed,
                published.scale,
                settings.assign(mean=settings[metric], shared=settings[f"{metric}_shared"]),
                leaking.get((cell.dataset, cell.labels)) if cell.method == _OURS else None,
                restarts,
                (evidence.planned or {}).get((cell.dataset, cell.method), 0),
                draws,
                full_graph.get((cell.dataset, cell.labels)) if cell.method == _OURS else None,
            )
            found.append(Difference(cell, metric, apart, tuple(_lower(case) if apart < 0 else _higher(case))))
    return found


def _searches(rows: pd.DataFrame) -> dict[tuple[str, str, int | None], pd.DataFrame]:
    """Return, for every cell, its settings with the means of the metrics, and whether all runs converged.

    The best settings of a search have more draws than the others, so means on the draws that all have are given too.
    """
    frame = read_cells(rows)
    frame = frame[frame["acc"].notna()]
    found = {}
    for (dataset, method, labels), part in frame.groupby(["dataset", "method", "labels"], dropna=False, sort=False):
        settings = part.groupby("setting", sort=False).agg(
            acc=("acc", "mean"), nmi=("nmi", "mean"), runs=("acc", "size"), settled=("settled", "all"),
            acc_low=("acc", "min"), acc_high=("acc", "max"), nmi_low=("nmi", "min"), nmi_high=("nmi", "max"),
            preprocessing=("preprocessing", "first"), kernel=("kernel", "first"),
        )  # fmt: skip
        everywhere = part.groupby("seed")["setting"].nunique() == len(settings)
        shared = part[part["seed"].isin(everywhere.index[everywhere])].groupby("setting")[["acc", "nmi"]].mean()
        settings = settings.join(shared.add_suffix("_shared"))
        found[dataset, method, None if labels != labels else int(labels)] = settings
    return found


def _lower(case: _Case) -> Iterator[str]:
    """Yield the reasons for a figure below the published one."""
    reasons = [*_stopped(case), *_leak(case), *_luck(case), *_chosen_by_accuracy(case), *_input(case)]
    yield from reasons
    yield from _graph(case)
    yield from _budget(case)
    if not reasons:
        yield f"not reached: {_best(case)}"


def _higher(case: _Case) -> Iterator[str]:
    """Yield the reasons for a figure above the published one."""
    if not case.cell.settled:
        yield "no setting converged: the figure depends on where the solver was stopped"
    yield from _luck(case)
    yield from _input(case)
    yield from _graph(case)
    if case.cell.n_settings == 1:
        yield f"no search: {_best(case)}"
        return
    above = int((case.settings["mean"] > case.theirs + NEAR).sum())
    yield (
        f"search: settings above the published figure by more than {NEAR:g}: {above} of {case.cell.n_settings}; the "
        "paper does not give its search"
    )


def _best(case: _Case) -> str:
    """Return the size of the search, and the range over the runs of a setting that stands alone."""
    if case.cell.n_settings > 1:
        return f"the best of {case.cell.n_settings} settings"
    low, high = case.settings[f"{case.metric}_low"].iloc[0], case.settings[f"{case.metric}_high"].iloc[0]
    inside = "the published figure is within them" if low <= case.theirs <= high else "the published figure is not"
    return f"one setting, whose {counted(case.cell.n_runs, 'run')} give {case.text(low)} to {case.text(high)}: {inside}"


def _stopped(case: _Case) -> Iterator[str]:
    """Say if no setting converged, or if runs that did not converge are nearer to the published figure."""
    if not case.cell.settled:
        yield "no setting converged: the figure depends on where the solver was stopped"
        return
    loose = case.settings.loc[~case.settings["settled"] & (case.settings["runs"] >= case.cell.n_runs), "mean"]
    if len(loose) and loose.max() > case.ours:
        reached = "reaches" if loose.max() >= case.theirs - NEAR else "comes nearer to"
        yield f"convergence: a run that did not converge {reached} it ({case.text(loose.max())}) and does not count"


def _leak(case: _Case) -> Iterator[str]:
    """Compare with the released program with misaligned rows on the same data and share of labels."""
    if case.leaking is None or case.cell.labels is None:
        return
    said = case.text(case.leaking)
    if case.leaking >= case.theirs - NEAR:
        yield f"leak: with its rows misaligned the released program gives {said}"
    elif case.leaking > case.ours + NEAR:
        yield f"leak: misaligned rows explain a part, the released program gives {said}"
    else:
        yield f"the leak does not explain it: with misaligned rows {said}"


def _luck(case: _Case) -> Iterator[str]:
    """Say whether the published figure lies within what draws and single starts of k-means give."""
    cell, score = case.cell, case.cell.scores[case.metric]
    if cell.labels is not None and score.std is not None and case.printed.std is not None:
        error = math.hypot(
            score.std / math.sqrt(cell.n_runs), case.printed.std / case.scale / math.sqrt(_PUBLISHED_DRAWS)
        )
        if abs(case.ours - case.theirs) <= 2 * error:
            yield f"draws: within two standard errors of the difference ({case.text(error)} each)"
    if cell.labels is not None and cell.n_runs < _PUBLISHED_DRAWS:
        yield f"draws: {cell.n_runs} here, {_PUBLISHED_DRAWS} in the paper"
    yield from _more_draws(case)
    low_high = _restarted(case)
    if low_high is not None:
        low, high, n = low_high
        inside = "k-means luck" if low <= case.theirs <= high else "not k-means luck"
        yield f"{inside}: {n} single starts of this setting give {case.text(low)} to {case.text(high)}"


def _more_draws(case: _Case) -> Iterator[str]:
    """Give the means of sets of as many draws as in the paper, if the chosen setting was run on more."""
    frame = case.draws
    if frame is None or case.cell.labels is None:
        return
    same = (frame["dataset"] == case.cell.dataset) & (frame["method"] == case.cell.method)
    runs = frame[same & (frame["labels"] == case.cell.labels) & (frame["setting"] == case.cell.setting)]
    means = means_of_sets(runs, case.metric, _PUBLISHED_DRAWS)
    if len(means) > 1:
        yield (
            f"draws: {len(means)} sets of {_PUBLISHED_DRAWS} draws of this setting give {case.text(min(means))} to "
            f"{case.text(max(means))}, all {len(runs)} draws {case.text(float(runs[case.metric].mean()))}"
        )


def _restarted(case: _Case) -> tuple[float, float, int] | None:
    """Return the range over single starts of k-means of the chosen setting, if there are rows of it."""
    frame = case.restarts
    if frame is None or case.cell.labels is not None:
        return None
    same = (frame["dataset"] == case.cell.dataset) & (frame["method"] == case.cell.method)
    scores = frame.loc[same & (frame["setting"] == _without_starts(case.cell.setting)), case.metric].dropna()
    return (float(scores.min()), float(scores.max()), len(scores)) if len(scores) else None


def _without_starts(setting: str) -> str:
    """Return a setting as text without its number of k-means starts."""
    parameters, *rest = setting.split("; ")
    kept = [word for word in parameters.split(", ") if not word.startswith("n_init=")]
    return "; ".join([", ".join(kept), *rest])


def _chosen_by_accuracy(case: _Case) -> Iterator[str]:
    """Say if another setting of the search has the NMI: the setting is chosen by accuracy."""
    if case.metric == "acc":
        return
    best = case.settings.loc[case.settings["settled"], "mean"].max()
    if best >= case.theirs - NEAR:
        yield f"selection: the setting is chosen by ACC, and another one of the search has {case.text(best)}"


def _input(case: _Case) -> Iterator[str]:
    """Give the best of each preprocessing and recipe, on the draws that all settings have, where it matters."""
    good = case.settings[case.settings["settled"]]
    for what, column, names in (("preprocessing", "preprocessing", _WAYS), ("kernels", "kernel", _RECIPES)):
        best = good[good[column].isin(list(names))].groupby(column)["shared"].max().dropna()
        if len(best) > 1 and best.max() - best.min() > NEAR:
            yield f"{what}: best " + ", ".join(f"{names[way]} {case.text(best[way])}" for way in names if way in best)


def _graph(case: _Case) -> Iterator[str]:
    """Give the best with the paper's full graph, if the chosen setting keeps only the strongest entries of it."""
    if case.full_graph is not None and case.metric in case.full_graph.scores:
        kept, best = entries_kept(case.cell), case.text(case.full_graph.scores[case.metric].mean)
        yield f"graph: {kept} entries of every row kept, which is ours; the paper's full graph {best}"


def _budget(case: _Case) -> Iterator[str]:
    if case.cell.n_settings < case.planned:
        yield f"search budget: {case.cell.n_settings} of {case.planned} settings were run"


def differences_table(differences: Sequence[Difference], published: Published) -> Table:
    """Return the differences as a table with a line for each."""
    by_labels = any(d.cell.labels is not None for d in differences)
    header = ["Data", *(["Labels"] if by_labels else []), "Method", "Metric", "ours", "published", "Δ", "from the rows"]
    digits = 2 if published.scale == 100 else 4
    lines = []
    for d in differences:
        ours = published.scale * d.cell.scores[d.metric].mean
        theirs = ours - published.scale * d.apart
        numbers = f"{ours:.{digits}f}", f"{theirs:.{digits}f}", f"{published.scale * d.apart:+.{digits}f}"
        labels = [DASH if d.cell.labels is None else f"{d.cell.labels} %"] if by_labels else []
        words = [d.cell.dataset.upper(), *labels, d.cell.method, d.metric.upper()]
        lines.append([Entry(text.replace("-", "−")) for text in (*words, *numbers)] + [Entry("; ".join(d.reasons))])
    title = f"{published.table}: every difference of more than {NEAR:g}"
    return Table(title, header, lines, words=len(header) - 4, last_words=1)
