"""Which commit computed which stored figure: benchmarks/results/commits.json, and a sentence on every page."""

from __future__ import annotations

import json
from pathlib import Path

from kernelweave.experiments.commits import source_commit

__all__ = ["computed", "stamp"]

STORE = Path(__file__).parent / "results" / "commits.json"


def stamp(page: str, part: str) -> None:
    """Store that the source as it is now computed this part of a page."""
    stored = _stored()
    stored.setdefault(page, {})[part] = source_commit() or "unknown"
    STORE.write_text(json.dumps(stored, indent=1, sort_keys=True) + "\n")


def computed(page: str) -> str:
    """Return a sentence that names the commits of a page; which part is of which is in the file."""
    commits = sorted(set(_stored().get(page, {}).values()))
    many = "commits" if len(commits) > 1 else "commit"
    return f"Computed by {many} {', '.join(commits) or 'unknown'}."


def _stored() -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = json.loads(STORE.read_text()) if STORE.exists() else {}
    return found
