"""What a row is computed with: the commit of the source, and the versions of the libraries."""

from __future__ import annotations

import platform
import subprocess
from functools import cache
from pathlib import Path

import numpy as np
import scipy
import sklearn

import kernelweave

__all__ = ["source_commit", "versions"]

_LENGTH = 12


def source_commit() -> str:
    """Return the commit of the package's source, with "+changes" if it was edited since; "" outside a repository."""
    folder = Path(__file__).parents[1]
    commit = _git(folder, "rev-parse", f"--short={_LENGTH}", "HEAD")
    # an installed package may lie inside the repository of another project, where git does not track it
    if not commit or not _git(folder, "ls-files", "--", str(Path(__file__))):
        return ""
    changed = _git(folder, "status", "--porcelain", "--", str(folder))
    return f"{commit}+changes" if changed else commit


def _git(folder: Path, *arguments: str) -> str:
    """Return what a git command prints, or "" if there is no git or no repository."""
    command = ["git", "-C", str(folder), *arguments]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


@cache
def versions() -> dict[str, str]:
    """Return what a stored row was computed with: the versions of the libraries, and the commit."""
    return {
        "kernelweave": kernelweave.__version__,
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "sklearn": sklearn.__version__,
        "python": platform.python_version(),
        "commit": source_commit(),
    }
