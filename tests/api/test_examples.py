"""The examples import names that exist; the documentation runs them whole, these tests only read them."""

from __future__ import annotations

import ast
import importlib
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
FILES = sorted([*EXAMPLES.glob("tutorials/*.py"), *EXAMPLES.glob("explained/*.py")])


def imported(file: Path) -> list[tuple[str, str | None]]:
    """Return (module, name) of every import from kernelweave in a file."""
    found: list[tuple[str, str | None]] = []
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "kernelweave":
            found += [(str(node.module), one.name) for one in node.names]
        elif isinstance(node, ast.Import):
            found += [(one.name, None) for one in node.names if one.name.split(".")[0] == "kernelweave"]
    return found


def test_there_are_examples_to_read() -> None:
    assert len(FILES) >= 10


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_name_that_an_example_imports_exists(file: Path) -> None:
    names = imported(file)
    assert names, f"{file.name} does not import kernelweave"
    for module, name in names:
        loaded = importlib.import_module(module)
        if name is not None and not hasattr(loaded, name):
            importlib.import_module(f"{module}.{name}")
