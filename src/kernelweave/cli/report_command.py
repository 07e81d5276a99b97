"""`kernelweave report`: the HTML report of a fitted model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kernelweave.cli import _arguments as option

__all__ = ["report"]


def report(
    result: Annotated[Path, typer.Argument(help="A folder of results, or a model.kw.")],
    out: Annotated[Path | None, typer.Option(help="The HTML file; report.html beside the model if not given.")] = None,
    title: Annotated[str | None, typer.Option(help="The title of the page.")] = None,
    names: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Names of the clusters: the names.csv that the page saves."),
    ] = None,
    compare: option.Compare = None,
    spread: Annotated[
        bool, typer.Option("--spread", help="Open the map with a spread of the samples by t-SNE.")
    ] = False,
    force: option.Force = False,
    quiet: option.Quiet = False,
) -> None:
    """Write the report of a fitted model as one HTML page: its clusters or classes, weights and confidence.

    kernelweave report data-clusters --force
    """
    import kernelweave
    from kernelweave.cli._other_tables import compared_with, read_clustering, read_names
    from kernelweave.cli._report_content import CONTENT, read_content
    from kernelweave.cli._results import check_file, check_target, labels_of, model_path, read_ids, write_all
    from kernelweave.cli._working import working
    from kernelweave.report import write_report
    from kernelweave.tabular import ReadOptions

    path = model_path(result)
    page = out or path.parent / "report.html"
    check_file(page)
    check_target(page.parent, [page.name], force=force)
    with working("Writing the report", quiet=quiet):
        model = kernelweave.load(path)
        ids = read_ids(path.parent / "labels.csv", len(labels_of(model)))
        content = read_content(path.parent / CONTENT, model) | {"ids": ids, "title": title, "spread": spread}
        if names is not None:
            content["names"] = read_names(names)
        if compare is not None:
            own = [str(i) for i in range(len(labels_of(model)))] if ids is None else ids
            content["comparison"] = compared_with(
                labels_of(model), read_clustering(own, compare, ReadOptions()), compare
            )
        writers = {page.name: lambda place: write_report(model, place, **content)}
        write_all(page.parent, writers, force=force)
    typer.echo(str(page))
