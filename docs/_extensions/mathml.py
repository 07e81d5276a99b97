"""Formulas as MathML, made when the documentation is built: pages need no network and no JavaScript for them."""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING

from docutils import nodes
from docutils.utils.math import MathError, pick_math_environment
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.util import logging

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.writers.html5 import HTML5Translator

_BARS = re.compile("<mo>([‖∥|])</mo>")  # browsers would stretch the bars of a norm over its neighbours
LOGGER = logging.getLogger(__name__)


def setup(app: Sphinx) -> dict[str, bool]:
    """Add the renderer to Sphinx; ``html_math_renderer = "mathml"`` chooses it."""
    app.add_html_math_renderer("mathml", (_visit_inline, None), (_visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _visit_inline(self: HTML5Translator, node: nodes.math) -> None:
    self.body.append(_mathml(node, node.astext(), as_block=False))
    raise nodes.SkipNode


def _visit_block(self: HTML5Translator, node: nodes.math_block) -> None:
    self.body.append(self.starttag(node, "div", CLASS="math"))
    for part in node.astext().split("\n\n"):  # equations below each other
        text, environment = part.strip(), pick_math_environment(part.strip())
        if environment != "equation*":
            text = f"\\begin{{{environment}}}{text}\\end{{{environment}}}"
        self.body.append(_mathml(node, text, as_block=True))
    self.body.append("</div>\n")
    raise nodes.SkipNode


def _mathml(node: nodes.Element, text: str, *, as_block: bool) -> str:
    try:
        return _BARS.sub(r'<mo stretchy="false">\1</mo>', tex2mathml(text, as_block=as_block))
    except MathError as error:
        LOGGER.warning("the formula %r cannot be shown: %s", text, error, location=node)
        return f"<code>{html.escape(text)}</code>"
