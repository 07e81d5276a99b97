"""Tables of cells: the published figures beside ours, and how much of every search was run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from kernelweave.experiments.published import Figure, Published
from kernelweave.experiments.reading import measured_sizes
from kernelweave.experiments.render import DASH, Entry, Table, Tone
from kernelweave.experiments.selection import METRICS, Cell

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["NEAR", "budget_table", "compared", "detail_table", "overview_tables", "printed_figure", "sizes_table"]

NEAR = 0.02  # figures that differ by at most this count as equal; scores are from 0 to 1
_TITLES = {"acc": "ACC", "nmi": "NMI", "purity": "purity"}
_SIZES = ("instances", "features", "classes")
_TUNED, _UNSETTLED = "*", "†"
_RULES = {
    "oracle": "the best setting of the search, selected with the labels that score it (as in the paper, apparently)",
    "fixed": "one setting, not searched",
    "unsupervised": "the setting selected without labels",
}
_BUDGET_NOTE = (
    "Settings × runs: the number of settings searched, and the number of seeds or draws of the chosen one; with "
    "several percentages of labels, the fewest of each. “2 of 30”: 30 settings are planned."
)


def printed_figure(cell: Cell, metric: str, published: Published | None) -> Figure | None:
    """Return the published figure of a cell."""
    return None if published is None else published.find(cell.dataset, metric, cell.method, cell.labels)


def compared(cell: Cell, metric: str, published: Published | None) -> float | None:
    """Return our score minus the published one, from -1 to 1; None if one of them is missing."""
    printed, score = printed_figure(cell, metric, published), cell.scores.get(metric)
    if published is None or printed is None or score is None:
        return None
    return score.mean - printed.value / published.scale


def overview_tables(cells: Sequence[Cell], published: Published | None) -> list[Table]:
    """Return a table of the methods of the paper, with a column for each, and one of the other methods."""
    printed = {figure.method for figure in published.figures} if published else set()
    theirs = [cell for cell in cells if cell.method in printed]
    ours = [cell for cell in cells if cell.method not in printed]
    title = f"{published.table}: {published.caption}" if published else "Comparison of the methods"
    others = "Methods that are not in the paper" if theirs else title
    parts = ((title, theirs), (others, ours))
    return [_overview(name, part, published) for name, part in parts if len({cell.method for cell in part}) > 1]


def _overview(title: str, cells: Sequence[Cell], published: Published | None) -> Table:
    columns = _columns(cells, published)
    by_labels = any(cell.labels is not None for cell in cells)
    found = {(cell.dataset, cell.labels, cell.method, cell.rule): cell for cell in cells}
    rows = []
    for dataset, labels in dict.fromkeys((cell.dataset, cell.labels) for cell in cells):
        for metric in _shown(cells, published):
            across = [found.get((dataset, labels, *column)) for column in columns]
            place = [Entry(dataset.upper()), *([Entry(_rate(labels))] if by_labels else []), Entry(_TITLES[metric])]
            best = _best(across, metric)
            rows.append(place + [_entry(cell, metric, published, cell in best) for cell in across])
    notes = [_rules_note(cells) + " Best in bold."]
    if published is not None and any(compared(c, m, published) is not None for c in cells for m in published.metrics):
        notes.append(f"In parentheses: ours minus the figure in {published.table}. {published.source}")
    notes += _unsettled_notes(cells) + _protocol_notes(cells)
    head = ["Data", *(["Labels"] if by_labels else []), "Metric"]
    tuned = {(cell.method, cell.rule) for cell in cells if cell.tuned}
    names = [method + (_TUNED if (method, rule) in tuned else "") for method, rule in columns]
    return Table(title, [*head, *names], rows, notes, words=len(head))


def _entry(cell: Cell | None, metric: str, published: Published | None, best: bool) -> Entry:
    if cell is None or metric not in cell.scores:
        return Entry()
    scale, digits = _scale(published)
    difference = compared(cell, metric, published)
    apart = "" if difference is None else f" ({_signed(difference, published)})"
    mark = "" if cell.settled else _UNSETTLED
    return Entry(f"{scale * cell.scores[metric].mean:.{digits}f}{mark}{apart}", best, _tone(difference))


def _rules_note(cells: Sequence[Cell]) -> str:
    texts = {"oracle": f"{_TUNED} tuned on labels: {_RULES['oracle']}."}
    shown = [rule for rule in _unique(cells, "rule") if rule != "oracle" or any(cell.tuned for cell in cells)]
    return " ".join(texts.get(rule, f"{rule}: {_RULES.get(rule, 'see the experiment')}.") for rule in shown)


def detail_table(
    cells: Sequence[Cell], published: Published | None, name: str, planned: Mapping[tuple[str, str], int] | None = None
) -> Table:
    """Return a table with a row for every cell; `planned` is the number of settings by data set and method."""
    metrics = [metric for metric in METRICS if any(metric in cell.scores for cell in cells)]
    printed = [m for m in metrics if published is not None and m in published.metrics]
    by_labels = any(cell.labels is not None for cell in cells)
    header = ["Data", *(["Labels"] if by_labels else []), "Method", "Rule"]
    words = len(header)
    for metric in metrics:
        header += [_TITLES[metric], *(["published", "Δ"] if metric in printed else [])]
    header += ["settings", *(["planned"] if planned else []), "failed", "not converged", "runs", "s per run", "setting"]
    rows = []
    for cell in _by_place(cells):
        peers = [c for c in cells if (c.dataset, c.labels, c.rule) == (cell.dataset, cell.labels, cell.rule)]
        row = [Entry(cell.dataset.upper()), *([Entry(_rate(cell.labels))] if by_labels else [])]
        row += [Entry(cell.method), Entry(cell.rule + (_TUNED if cell.tuned else ""))]
        for metric in metrics:
            row += _detail(cell, metric, published, best=cell in _best(peers, metric))[: 3 if metric in printed else 1]
        rows.append(row + _counts(cell, planned))
    notes = [
        "Mean ± sample standard deviation over seeds or draws, for the setting in the last column. settings: the "
        "number of settings searched"
        + ("; planned: the number in the file of the experiment" if planned else "")
        + "; failed, not converged: the number of them that failed, or stopped at the maximum number of iterations, in "
        "a run. runs: seeds or draws of the setting shown. The best of each rule is in bold."
    ]
    notes.append(_rules_note(cells))
    title = f"{published.table if published else name}: all results"
    notes += _unsettled_notes(cells) + _protocol_notes(cells)
    return Table(title, header, rows, notes, words=words, last_words=1)


def _detail(cell: Cell, metric: str, published: Published | None, *, best: bool) -> list[Entry]:
    """Return our figure, the published one, and their difference."""
    difference = compared(cell, metric, published)
    return [
        Entry(_number(cell, metric, published), best),
        Entry(_printed(printed_figure(cell, metric, published), published)),
        Entry(_signed(difference, published), tone=_tone(difference)),
    ]


def _counts(cell: Cell, planned: Mapping[tuple[str, str], int] | None) -> list[Entry]:
    """Return the size of the search, what failed in it, and the setting that was chosen."""
    in_file = [planned.get((cell.dataset, cell.method), DASH)] if planned else []
    counts = [cell.n_settings, *in_file, cell.n_failed, cell.n_unsettled, cell.n_runs]
    seconds = f"{cell.seconds:.2g}" if cell.scores else DASH
    return [*(Entry(str(count)) for count in counts), Entry(seconds), Entry(cell.setting if cell.scores else DASH)]


def sizes_table(rows: pd.DataFrame, published: Published | None) -> Table:
    """Return a table of the measured size of every data set and the published one."""
    header = ["Data"]
    for metric in _SIZES:
        header += [metric, "published", "Δ"]
    lines, elsewhere = [], []
    for dataset, sizes in measured_sizes(rows).items():
        line = [Entry(dataset.upper())]
        for metric in _SIZES:
            figure = published.find(dataset, metric) if published else None
            line.append(Entry(str(sizes[metric])))
            line.append(Entry(f"{figure.value:g}" if figure else DASH))
            apart = None if figure is None else sizes[metric] - figure.value
            line.append(Entry(DASH if apart is None else _plus(apart, 0), tone="far" if apart else ""))
            if figure and figure.where:
                elsewhere.append(f"{dataset.upper()} ({metric}): {figure.where}")
        lines.append(line)
    notes = ["Measured on the files whose checksums are stored in the rows."]
    notes += [published.source] if published else []
    if elsewhere:
        notes.append(f"Given elsewhere in the paper, not in the table: {'; '.join(elsewhere)}.")
    title = f"{published.table}: {published.caption}" if published else "Sizes"
    return Table(title, header, lines, notes)


def _by_place(cells: Sequence[Cell]) -> list[Cell]:
    """Return the cells grouped by data set and percentage of labels, in their order otherwise."""
    places = list(dict.fromkeys((cell.dataset, cell.labels) for cell in cells))
    datasets = _unique(cells, "dataset")
    places.sort(key=lambda place: (datasets.index(place[0]), place[1] or 0))
    return sorted(cells, key=lambda cell: places.index((cell.dataset, cell.labels)))


def _best(cells: Iterable[Cell | None], metric: str) -> list[Cell]:
    """Return the cells with the best score of those that converged, if at least two have one."""
    scored = [cell for cell in cells if cell is not None and cell.settled and metric in cell.scores]
    if len(scored) < 2:
        return []
    top = max(cell.scores[metric].mean for cell in scored)
    return [cell for cell in scored if cell.scores[metric].mean == top]


def _shown(cells: Sequence[Cell], published: Published | None) -> list[str]:
    """Return the metrics of the paper, or all that the cells have."""
    if published is not None:
        return [metric for metric in METRICS if metric in published.metrics]
    return [metric for metric in METRICS if any(metric in cell.scores for cell in cells)]


def _columns(cells: Sequence[Cell], published: Published | None) -> list[tuple[str, str]]:
    """Return the methods with their rules, those of the paper first and in its order."""
    printed = [figure.method for figure in published.figures if figure.method] if published else []
    ours = list(dict.fromkeys((cell.method, cell.rule) for cell in cells))
    order = list(dict.fromkeys([*printed, *(method for method, _ in ours)]))
    return sorted(ours, key=lambda column: order.index(column[0]))


def _unique(cells: Sequence[Cell], field: str) -> list[str]:
    return list(dict.fromkeys(getattr(cell, field) for cell in cells))


def _protocol_notes(cells: Sequence[Cell]) -> list[str]:
    protocols = [protocol for protocol in _unique(cells, "protocol") if protocol]
    return [f"Labels are drawn with the protocol {', '.join(protocols)} (see label_split)."] if protocols else []


def _unsettled_notes(cells: Sequence[Cell]) -> list[str]:
    if all(cell.settled for cell in cells):
        return []
    return [f"{_UNSETTLED} no setting converged in all its runs: the figure depends on where the solver was stopped."]


def _rate(labels: int | None) -> str:
    return DASH if labels is None else f"{labels} %"


def _scale(published: Published | None) -> tuple[float, int]:
    scale = published.scale if published else 1.0
    return scale, 2 if scale == 100 else 4


def _number(cell: Cell, metric: str, published: Published | None) -> str:
    score = cell.scores.get(metric)
    if score is None:
        return DASH
    scale, digits = _scale(published)
    spread = "" if score.std is None else f" ± {scale * score.std:.{digits}f}"
    return f"{scale * score.mean:.{digits}f}{spread}{'' if cell.settled else _UNSETTLED}"


def _printed(figure: Figure | None, published: Published | None) -> str:
    if figure is None:
        return DASH
    _, digits = _scale(published)
    spread = "" if figure.std is None else f" ± {figure.std:.{digits}f}"
    return f"{figure.value:.{digits}f}{spread}"


def _signed(difference: float | None, published: Published | None) -> str:
    scale, digits = _scale(published)
    return DASH if difference is None else _plus(scale * difference, digits)


def _plus(number: float, digits: int) -> str:
    text = f"{number:+.{digits}f}"
    return "0" + text[2:] if float(text) == 0 else text.replace("-", "−")


def _tone(difference: float | None) -> Tone:
    if difference is None:
        return ""
    return "far" if difference < -NEAR else "near"


def budget_table(cells: Sequence[Cell], planned: Mapping[tuple[str, str], int], title: str) -> Table:
    """Return a table of the sizes of the searches.

    Parameters
    ----------
    cells : list of Cell
        From `select_cells`.
    planned : mapping of (str, str) to int
        The number of settings in the file of the experiment, by data set and method.
    title : str
        The title of the table.

    Returns
    -------
    table : Table
        A line for every method and a column for every data set.
    """
    found: dict[tuple[str, str], list[Cell]] = {}
    for cell in cells:
        found.setdefault((cell.dataset, cell.method), []).append(cell)
    datasets = list(dict.fromkeys(cell.dataset for cell in cells))
    methods = list(dict.fromkeys(cell.method for cell in cells))
    lines = [
        [
            Entry(method),
            *(_budget_entry(found.get((data, method), ()), planned.get((data, method), 0)) for data in datasets),
        ]
        for method in methods
    ]
    return Table(title, ["Method", *(data.upper() for data in datasets)], lines, [_BUDGET_NOTE])


def _budget_entry(cells: Sequence[Cell], planned: int) -> Entry:
    if not cells:
        return Entry(DASH)
    settings, runs = min(cell.n_settings for cell in cells), min(cell.n_runs for cell in cells)
    of = f" of {planned}" if settings < planned else ""
    return Entry(f"{settings}{of} × {runs}")
