"""What the documents show must run as written."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted(p for p in [ROOT / "README.md", *ROOT.glob("docs/*.md")] if "```python" in p.read_text())


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_python_block_runs_as_written(document):
    blocks = re.findall(r"```python\n(.*?)```", document.read_text(), flags=re.S)
    namespace = {}
    for block in blocks:
        exec(compile(block, document.name, "exec"), namespace)
    assert blocks


def test_the_readme_begins_with_the_two_commands():
    head = (ROOT / "README.md").read_text().splitlines()[:12]
    assert any("make demo" in line for line in head)
    assert any("make test" in line for line in head)
