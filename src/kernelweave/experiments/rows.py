"""Rows that survive a crash: one file per finished task, renamed into place once it is synced to disk."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol

from kernelweave._plural import counted
from kernelweave.errors import ResultsError
from kernelweave.files.temporary import remove_leftovers, replacing

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["COLUMNS", "Described", "Results", "Row", "Stored", "settled"]

COLUMNS: dict[str, str] = {
    "experiment": "string", "preset": "string", "dataset": "string", "data_sha256": "string", "n_samples": "Int64",
    "n_features": "Int64", "n_classes": "Int64", "method": "string", "estimator": "string", "selection": "string",
    "parameters": "string", "kernel": "string", "preprocessing": "string", "seed": "Int64", "split": "string",
    "fraction": "float64", "acc": "float64", "nmi": "float64", "purity": "float64", "evidence": "float64",
    "undecided": "float64", "seconds": "float64", "n_iter": "float64", "outcome": "string", "moved": "float64",
    "error": "string", "kernelweave": "string", "numpy": "string", "scipy": "string", "sklearn": "string",
    "python": "string", "commit": "string", "created": "string", "key": "string",
}  # fmt: skip

Row = dict[str, Any]

_CONVERGED = ("CONVERGED", "LEVEL")  # outcomes of the solvers


def settled(outcome: str, moved: float | None) -> bool:
    """Return whether a run converged, or its labels were the same after twice as many iterations."""
    return outcome in _CONVERGED or (outcome == "MAX_ITER" and moved == 0)


class Described(Protocol):
    """An experiment as its results describe it."""

    @property
    def name(self) -> str:
        """The name of the experiment."""

    @property
    def preset(self) -> str:
        """Which of its presets."""

    @property
    def filename(self) -> str:
        """The name of its file."""

    @property
    def content(self) -> bytes:
        """The file."""

    @property
    def sha256(self) -> str:
        """Checksum of the file and the preset."""


class Stored(Protocol):
    """A task whose rows are stored together."""

    @property
    def name(self) -> str:
        """The stem of the file that stores the rows."""

    @property
    def row_keys(self) -> tuple[str, ...]:
        """A digest that identifies each row."""


class Results:
    """The folder of a run: ``rows/`` with a file per task, and ``run.json`` with the experiment and preset."""

    def __init__(self, folder: Path, columns: Mapping[str, str] = COLUMNS) -> None:
        self.folder = folder
        self.rows = folder / "rows"
        self.columns = dict(columns)

    def open(self, spec: Described, *, resume: bool) -> None:
        """Make the folder, or reuse it if its rows are of this experiment; rows of another need `resume`."""
        about = self.folder / "run.json"
        mine = {"experiment": spec.name, "preset": spec.preset, "spec": spec.filename, "spec_sha256": spec.sha256}
        if about.exists():
            theirs = self._read_about(about)
            if theirs.get("spec_sha256") != spec.sha256 and not resume:
                msg = (
                    f"{self.folder} holds rows of {theirs.get('experiment')!r} under the preset "
                    f"{theirs.get('preset')!r}, or of another version of its file; this is {spec.name!r} under "
                    f"{spec.preset!r}. Nothing was changed. Give another folder with --out; or --resume, to keep what "
                    "both have in common and add the rest."
                )
                raise ResultsError(msg)
        elif self.rows.is_dir() and any(self.rows.glob("*.jsonl")):
            msg = f"{self.folder} holds rows but no run.json with their experiment. Give another folder with --out."
            raise ResultsError(msg)
        try:
            self.rows.mkdir(parents=True, exist_ok=True)
            remove_leftovers(self.rows)
        except OSError as error:
            raise self._unwritable(self.rows, error) from error
        self._write(about, (json.dumps(mine, indent=1) + "\n").encode())
        self._write(self.folder / "spec.toml", spec.content)

    def finished(self, tasks: Iterable[Stored]) -> dict[str, list[Row]]:
        """Return the rows of the finished tasks, by the name of the task."""
        present = {path.stem for path in self.rows.glob("*.jsonl")}
        return {task.name: self._read(task) for task in tasks if task.name in present}

    def add(self, task: Stored, rows: list[Row]) -> None:
        """Write the rows of a finished task atomically."""
        lines = "".join(json.dumps(row, allow_nan=False) + "\n" for row in rows)
        self._write(self._file(task), lines.encode())

    def consolidate(self, tasks: Iterable[Stored]) -> pd.DataFrame:
        """Write all rows, in the order of the tasks, to results.parquet and results.csv, and return them."""
        return self._consolidated([row for found in self.finished(tasks).values() for row in found])

    def consolidate_all(self) -> pd.DataFrame:
        """Do the same with the rows of all tasks in the folder, in the order of their files."""
        paths = sorted(self.rows.glob("*.jsonl"))
        return self._consolidated([row for path in paths for row in self._read_file(path)])

    def _consolidated(self, rows: list[Row]) -> pd.DataFrame:
        import pandas as pd

        unique = list({row["key"]: row for row in rows}.values())
        frame = pd.DataFrame(unique, columns=list(self.columns)).astype(self.columns)
        self._write_with(self.folder / "results.parquet", lambda file: frame.to_parquet(file, index=False))
        self._write(self.folder / "results.csv", frame.to_csv(index=False).encode())
        return frame

    def _file(self, task: Stored) -> Path:
        return self.rows / f"{task.name}.jsonl"

    def _read_about(self, path: Path) -> Row:
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            msg = f"{path} is corrupt: {error}. Nothing was changed. Move the folder away, or give another with --out."
            raise ResultsError(msg) from error
        return found if isinstance(found, dict) else {}

    def _read(self, task: Stored) -> list[Row]:
        """Return the rows in a task's file; raise if they are not the rows of the task."""
        path = self._file(task)
        rows = self._read_file(path)
        if tuple(row["key"] for row in rows) != task.row_keys:
            raise self._corrupt(path, f"it has {counted(len(rows), 'row')}, not the {len(task.row_keys)} of its task")
        return rows

    def _read_file(self, path: Path) -> list[Row]:
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise self._corrupt(path, str(error)) from error
        rows = []
        for number, line in enumerate(lines, start=1):
            try:
                row = json.loads(line)
            except ValueError as error:
                raise self._corrupt(path, f"line {number} is not JSON ({error})") from error
            missing = [column for column in self.columns if not isinstance(row, dict) or column not in row]
            if missing:
                raise self._corrupt(path, f"line {number} lacks {', '.join(missing[:3])}")
            rows.append(row)
        return rows

    def _write(self, path: Path, content: bytes) -> None:
        self._write_with(path, lambda file: file.write(content))

    def _write_with(self, path: Path, write: Callable[[BinaryIO], object]) -> None:
        try:
            with replacing(path) as file:
                write(file)
        except OSError as error:
            raise self._unwritable(path, error) from error

    def _unwritable(self, path: Path, error: OSError) -> ResultsError:
        return ResultsError(
            f"{path} cannot be written: {error.strerror or error}. Finished tasks are kept in {self.rows}: free disk "
            "space or get write permission and run the same command again, or give another folder with --out."
        )

    def _corrupt(self, path: Path, problem: str) -> ResultsError:
        return ResultsError(
            f"{path} is corrupt: {problem}. Nothing was overwritten. Move the file away, and its task runs again."
        )
