"""Tables of an experiment, with the published figures next to ours, as Markdown, LaTeX and HTML."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from kernelweave.errors import InvalidInputError, ResultsError
from kernelweave.experiments.cells import detail_table, overview_tables, sizes_table
from kernelweave.experiments.choices import Kind
from kernelweave.experiments.published import load_published, published_names
from kernelweave.experiments.render import Table, to_html, to_latex, to_markdown
from kernelweave.experiments.selection import select_cells
from kernelweave.experiments.spec import Spec, available_specs, load_spec
from kernelweave.experiments.tasks import n_settings
from kernelweave.files.temporary import replacing

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["planned_settings", "tables_of", "write_atomically", "write_tables"]


def write_tables(rows: pd.DataFrame, spec: Spec, out: str | os.PathLike[str]) -> list[Path]:
    """Write the tables of an experiment, and its figures if it has some.

    Parameters
    ----------
    rows : pandas.DataFrame
        The rows of the experiment.
    spec : Spec
        The experiment; its name selects the published table to compare with.
    out : path-like
        An existing folder. Files of the same name are overwritten atomically.

    Returns
    -------
    paths : list of Path
        The files: ``<name>.md``, ``<name>.tex``, ``<name>.html`` and, for an experiment of the kind "surface",
        ``<name>_surface`` and ``<name>_heatmap`` as ``.png`` and ``.svg``.

    Raises
    ------
    InvalidInputError
        If there are no rows, or they lack columns.
    ResultsError
        If the folder cannot be written to.
    """
    if not len(rows):
        msg = f"The experiment {spec.name!r} has no rows yet: run it first."
        raise InvalidInputError(msg)
    folder = Path(out)
    tables = tables_of(rows, spec.name, spec.kind)
    pictures = _pictures(rows, spec.name) if spec.kind == "surface" else {}
    drawings = [
        content[content.index(b"<svg") :].decode() for name, content in pictures.items() if name.endswith("svg")
    ]
    contents = {
        f"{spec.name}.md": to_markdown(tables).encode(),
        f"{spec.name}.tex": to_latex(tables).encode(),
        f"{spec.name}.html": to_html(f"kernelweave: {spec.name}", tables, figures=drawings).encode(),
        **pictures,
    }
    return [write_atomically(folder / name, content) for name, content in contents.items()]


def tables_of(rows: pd.DataFrame, name: str, kind: Kind) -> list[Table]:
    """Return the tables of an experiment by its name and kind."""
    published = load_published(name) if name in published_names() else None
    if kind == "data":
        return [sizes_table(rows, published)]
    cells = select_cells(rows)
    return [*overview_tables(cells, published), detail_table(cells, published, name, planned_settings(name))]


def planned_settings(name: str) -> dict[tuple[str, str], int]:
    """Return the number of settings that the package's file of an experiment has for each data set and method."""
    if name not in available_specs():
        return {}
    spec = load_spec(name, "full")
    return {(data, method.name): n_settings(method, data, "full") for data in spec.datasets for method in spec.methods}


def _pictures(rows: pd.DataFrame, name: str) -> dict[str, bytes]:
    from io import BytesIO

    import matplotlib as mpl
    import matplotlib.pyplot as plt

    from kernelweave.plots.surface import plot_heatmap, plot_surface

    found = {}
    for kind, plot in (("surface", plot_surface), ("heatmap", plot_heatmap)):
        # a fixed salt and no date, so that the same rows give the same bytes
        with mpl.rc_context({"svg.hashsalt": f"{name}-{kind}", "svg.fonttype": "path"}):
            figure = plot(rows)[0, 0].figure
            for suffix, metadata in (("png", {"Software": None}), ("svg", {"Date": None})):
                buffer = BytesIO()
                figure.savefig(buffer, format=suffix, dpi=120, metadata=metadata)
                found[f"{name}_{kind}.{suffix}"] = buffer.getvalue()
            plt.close(figure)
    return found


def write_atomically(path: Path, content: bytes) -> Path:
    """Write a file atomically: a reader sees the old content or the new, never a part."""
    try:
        with replacing(path) as file:
            file.write(content)
    except (InvalidInputError, OSError) as error:
        why = getattr(error, "strerror", None) or error
        msg = f"{path} could not be written ({why}), and nothing was changed: choose another folder."
        raise ResultsError(msg) from error
    return path
