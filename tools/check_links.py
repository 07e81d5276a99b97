"""Check that every link within the built documentation leads somewhere: `python tools/check_links.py docs/_build`.

Sphinx checks the links that it writes itself; this also checks those of raw HTML, and the pictures.
"""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """The addresses that a page refers to, and the places in it that others can refer to."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.anchors: set[str] = {"", "top"}
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note the addresses and the names of an element."""
        for name, value in attrs:
            if value and name in ("href", "src"):
                self.links.add(value)
            elif value and (name == "id" or (tag == "a" and name == "name")):
                self.anchors.add(value)


def broken_links(folder: Path) -> list[str]:
    """Return one line for every link of a page in the folder to a file or a place in it that is not there."""
    pages = {path.resolve(): Page(path) for path in sorted(folder.rglob("*.html"))}
    found = []
    for path, page in pages.items():
        for link in sorted(page.links):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            if not target.is_file():
                found.append(f"{path.relative_to(folder.resolve())}: there is no {link}")
            elif target in pages and unquote(parts.fragment) not in pages[target].anchors:
                found.append(f"{path.relative_to(folder.resolve())}: nothing is called {link}")
    return found


def main() -> None:
    """Check a folder; the exit code is 1 if a link is broken."""
    folder = Path(sys.argv[1])
    if not (folder / "index.html").is_file():
        sys.exit(f"There is no documentation in {folder}: run make docs.")
    if found := broken_links(folder):
        sys.exit("\n".join(found))


if __name__ == "__main__":
    main()
