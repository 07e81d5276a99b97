"""Tables as Markdown, LaTeX or one self-contained HTML page."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Literal, TypeAlias

__all__ = ["DASH", "Entry", "Table", "Tone", "to_html", "to_latex", "to_markdown"]

DASH = "–"
Tone: TypeAlias = Literal["", "near", "far"]  # close to the published figure, or not


@dataclass(frozen=True, slots=True)
class Entry:
    """One field of a table; `tone` colours it in HTML."""

    text: str = DASH
    bold: bool = False
    tone: Tone = ""


@dataclass(frozen=True, slots=True)
class Table:
    """A title, a header, rows of entries, and notes below; a new value in the first column starts a block."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[Entry]]
    notes: Sequence[str] = ()
    words: int = 1  # number of leading columns that hold text; the others hold numbers
    last_words: int = 0  # number of trailing columns that hold text

    def is_words(self, column: int) -> bool:
        """Return whether a column holds text, which is aligned to the left."""
        return column < self.words or column >= len(self.header) - self.last_words

    def starts_block(self, i: int) -> bool:
        """Return whether row i starts a new block."""
        return i > 0 and self.rows[i][0].text != self.rows[i - 1][0].text


def to_markdown(tables: Sequence[Table]) -> str:
    """Return the tables as GitHub Markdown."""
    return "\n".join(_markdown(table) for table in tables)


def _markdown(table: Table) -> str:
    lines = [f"### {_md(table.title)}", ""] if table.title else []
    lines.append("| " + " | ".join(_md(name) for name in table.header) + " |")
    lines.append("|" + "|".join(" :-- " if table.is_words(i) else " --: " for i in range(len(table.header))) + "|")
    for row in table.rows:
        fields = (f"**{_md(entry.text)}**" if entry.bold else _md(entry.text) for entry in row)
        lines.append("| " + " | ".join(fields) + " |")
    for note in table.notes:
        lines += ["", _md(note)]
    return "\n".join(lines) + "\n"


def _md(text: str) -> str:
    return re.sub(r"([\\|*_`<\[\]])", r"\\\1", text)


_LATEX = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "±": r"$\pm$",
    "−": r"$-$",
    "≤": r"$\le$",
    "–": "--",
    "’": "'",
    "Δ": r"$\Delta$",
    "α": r"$\alpha$",
    "β": r"$\beta$",
    "γ": r"$\gamma$",
}


def to_latex(tables: Sequence[Table]) -> str:
    """Return the tables as LaTeX for the packages booktabs and longtable."""
    return "% needs \\usepackage{booktabs,longtable}\n" + "\n".join(_latex(table) for table in tables)


def _latex(table: Table) -> str:
    columns = "".join("l" if table.is_words(i) else "r" for i in range(len(table.header)))
    lines = [rf"\begin{{longtable}}{{{columns}}}", rf"\caption{{{_tex(table.title)}}}\\", r"\toprule"]
    lines += [" & ".join(_tex(name) for name in table.header) + r" \\", r"\midrule", r"\endhead", r"\bottomrule"]
    lines.append(r"\endfoot")
    for i, row in enumerate(table.rows):
        if table.starts_block(i):
            lines.append(r"\midrule")
        fields = (rf"\textbf{{{_tex(entry.text)}}}" if entry.bold else _tex(entry.text) for entry in row)
        lines.append(" & ".join(fields) + r" \\")
    lines.append(r"\end{longtable}")
    lines += [rf"\noindent {_tex(note)}\par" for note in table.notes]
    return "\n".join(lines) + "\n"


def _tex(text: str) -> str:
    return "".join(_LATEX.get(character, character) for character in text)


_STYLE = """
:root { color-scheme: light dark; --ink: #1f2328; --soft: #59636e; --paper: #ffffff; --line: #d9dee3; --band: #f6f8fa;
  --near: #00694b; --far: #a33c00; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e8ea; --soft: #9ba4ad; --paper: #15181c; --line: #343a41;
  --band: #1c2126; --near: #4cc9a0; --far: #ff9d5c; } }
body { margin: 2rem auto; max-width: 96rem; padding: 0 1rem; background: var(--paper); color: var(--ink);
  font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2.2rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .28rem .7rem; text-align: right; white-space: nowrap; border-bottom: 1px solid var(--line); }
th { position: sticky; top: 0; background: var(--paper); color: var(--soft); font-weight: 600; }
td.words, th.words { text-align: left; }
td.words:last-child { white-space: normal; min-width: 16rem; }
tr.block td { border-top: 2px solid var(--line); }
tbody tr:hover { background: var(--band); }
.near { color: var(--near); } .far { color: var(--far); }
p.note { color: var(--soft); max-width: 60rem; margin: .5rem 0; font-size: .92rem; }
figure { margin: 1rem 0; } figure img, figure svg { max-width: 100%; height: auto; background: #ffffff; }
"""


def to_html(title: str, tables: Sequence[Table], notes: Sequence[str] = (), figures: Sequence[str] = ()) -> str:
    """Return one page with the tables; `figures` are SVG texts, which are embedded."""
    parts = [f"<h1>{escape(title)}</h1>", *(f'<p class="note">{escape(note)}</p>' for note in notes)]
    parts += [_html(table) for table in tables]
    parts += [f"<figure>{figure}</figure>" for figure in figures]
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        + "\n".join(parts)
        + "\n</body>\n</html>\n"
    )


def _html(table: Table) -> str:
    words = [' class="words"' if table.is_words(i) else "" for i in range(len(table.header))]
    head = "".join(f'<th scope="col"{kind}>{escape(name)}</th>' for name, kind in zip(table.header, words, strict=True))
    lines = [
        f"<h2>{escape(table.title)}</h2>",
        '<div class="wide"><table>',
        f"<thead><tr>{head}</tr></thead>",
        "<tbody>",
    ]
    for i, row in enumerate(table.rows):
        fields = "".join(_td(entry, words=table.is_words(j)) for j, entry in enumerate(row))
        lines.append(f'<tr class="block">{fields}</tr>' if table.starts_block(i) else f"<tr>{fields}</tr>")
    lines.append("</tbody></table></div>")
    lines += [f'<p class="note">{escape(note)}</p>' for note in table.notes]
    return "\n".join(lines)


def _td(entry: Entry, *, words: bool) -> str:
    kinds = " ".join(kind for kind in ("words" if words else "", entry.tone) if kind)
    text = f"<strong>{escape(entry.text)}</strong>" if entry.bold else escape(entry.text)
    return f'<td class="{kinds}">{text}</td>' if kinds else f"<td>{text}</td>"
