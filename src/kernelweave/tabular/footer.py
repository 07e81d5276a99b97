"""Lines below a table that are not rows of it: sources, notes, totals without numbers."""

from __future__ import annotations

import re
from collections.abc import Sequence

from kernelweave.tabular.header_row import written_alike
from kernelweave.tabular.number_text import may_be_number

__all__ = ["footer_lines", "is_remark"]

_REMARK = re.compile(
    r"(sources?|notes?|n\.?b\.?|remarks?|legend|totals?|sum|data( from| source)?|downloaded|exported|generated|created"
    r"|printed|copyright|last updated|updated|end of \w+|quelle|anmerkung(en)?|stand|fuente|source ?)(\s*[:.\-–—]|\s|$)"
    r"|[*†‡©¹]|\(c\)|\d+ (rows|records|samples|entries)\b",
    re.IGNORECASE,
)


def is_remark(text: str) -> bool:
    """Return whether a text begins like a remark below a table, such as "Source: WHO"."""
    return _REMARK.match(text.strip()) is not None


def footer_lines(rows: Sequence[Sequence[str]], width: int, samples: Sequence[Sequence[str]]) -> list[str]:
    """Return the remarks at the end of a table whose rows have `width` entries; `rows` are its last lines, split.

    A blank line is an empty row, and is returned as "". A line with one entry is a remark if it begins like one or with
    an exclamation mark, has words in it, or comes after a blank line; one with several if it begins like one and has a
    colon, no other entry, or another number of them than rows have. The last row of a file that was cut off is not a
    remark: it is written like the ids of other rows.
    """
    found: list[str] = []
    for i in range(len(rows) - 1, -1, -1):
        own = [cell.strip() for cell in rows[i]]
        text = own[0] if own else ""
        if not any(own):
            found.append("")
            continue
        after_blank = i > 0 and not any(map(str.strip, rows[i - 1]))
        if not _is_footer(own, width, samples, after_blank=after_blank):
            break
        found.append(text)
    while found and not found[-1]:
        found.pop()
    return found[::-1]


def _is_footer(own: Sequence[str], width: int, samples: Sequence[Sequence[str]], *, after_blank: bool) -> bool:
    text, *others = own
    if not text or width < 2 or may_be_number(text) or written_alike(text, [row[0] for row in samples if row]):
        return False
    if len(own) == 1 and (after_blank or len(text.split()) > 2 or text.startswith("!")):
        return True  # ! begins the lines around the tables of GEO
    return is_remark(text) and (len(own) != width or not any(others) or ":" in text)
