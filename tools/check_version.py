"""Check that a tag, the package, CITATION.cff, the conda recipe and the changelog name the same version."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
PLACES = {
    "src/kernelweave/__init__.py": r'^__version__ = "(.+)"$',
    "CITATION.cff": r"^version: (.+)$",
    "recipe/meta.yaml": r'set version = "(.+)"',
    "CHANGELOG.md": r"^## (\S+)",
}


def versions() -> dict[str, str]:
    """Return the version that every place names."""
    found = {"pyproject.toml": str(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"])}
    for place, pattern in PLACES.items():
        match = re.search(pattern, (ROOT / place).read_text(), flags=re.M)
        found[place] = match[1] if match else "none"
    return found


def main() -> None:
    """Compare the versions, and the tag if one is given."""
    found = versions() | ({"the tag": sys.argv[1].removeprefix("v")} if sys.argv[1:] else {})
    if len(set(found.values())) > 1:
        sys.exit("The versions differ: " + ", ".join(f"{place} {version}" for place, version in found.items()))
    if sys.argv[1:] and "(not released)" in (ROOT / "CHANGELOG.md").read_text():
        sys.exit('CHANGELOG.md says "(not released)": write the date of the release there.')
    print(f"Version {found['pyproject.toml']} everywhere")


if __name__ == "__main__":
    main()
