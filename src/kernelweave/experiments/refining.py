"""The second stage of a search: which settings of the coarse stage are run on all draws."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean

from kernelweave.experiments.rows import Row, settled
from kernelweave.experiments.spec import Spec
from kernelweave.experiments.tasks import Place, Setting, Task, expand, expand_best

__all__ = ["expected_second_stage", "second_stage"]


def second_stage(spec: Spec, finished: Mapping[str, Sequence[Row]]) -> list[Task]:
    """Return the tasks of the second stage for every place whose coarse stage is complete.

    Parameters
    ----------
    spec : Spec
        The experiment.
    finished : mapping of str to list of dict
        The rows of the finished tasks, by the name of the task.

    Returns
    -------
    tasks : list of Task
        The remaining draws of the best settings: first those whose runs all converged, then those with the best mean
        accuracy. Only the rows of the coarse stage are used, so that a resumed run keeps the same settings.
    """
    if spec.coarse is None:
        return []
    runs: dict[Place, dict[Setting, list[Row]]] = {}
    incomplete: set[Place] = set()
    for task in expand(spec):
        if task.name not in finished:
            incomplete.add(task.place)
            continue
        settings = runs.setdefault(task.place, {})
        for point, row in zip(task.points, finished[task.name], strict=True):
            settings.setdefault(task.setting(point), []).append(row)
    best = {
        place: sorted(settings, key=lambda setting: _merit(settings[setting]), reverse=True)[: _kept(spec, place)]
        for place, settings in runs.items()
        if place not in incomplete
    }
    return expand_best(spec, best)


def expected_second_stage(spec: Spec) -> list[Task]:
    """Return tasks that cost about as much as those of the second stage, for an estimate of the time left."""
    if spec.coarse is None:
        return []
    settings: dict[Place, list[Setting]] = {}
    for task in expand(spec):
        settings.setdefault(task.place, []).extend(task.setting(point) for point in task.points)
    return expand_best(
        spec, {place: list(dict.fromkeys(found))[: _kept(spec, place)] for place, found in settings.items()}
    )


def _kept(spec: Spec, place: Place) -> int:
    """Return how many settings of a cell are run on all draws."""
    dataset, name, _ = place
    method = next(method for method in spec.methods if method.name == name)
    stage = spec.coarse_stage(method, dataset)
    return 0 if stage is None else stage.keep


def _merit(rows: Sequence[Row]) -> tuple[bool, bool, float]:
    """Return the sort key of a setting: no run failed, all converged, mean accuracy."""
    scores = [row["acc"] for row in rows if row["acc"] is not None]
    whole = len(scores) == len(rows)
    return whole, all(settled(row["outcome"], row["moved"]) for row in rows), fmean(scores) if scores else -1.0
