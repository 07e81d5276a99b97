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


LINKED = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("benchmarks/**/*.md")])


@pytest.mark.parametrize("document", LINKED, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_relative_link_leads_somewhere(document):
    targets = re.findall(r"\]\(([^)#\s]+)", document.read_text())
    missing = [t for t in targets if "://" not in t and not (document.parent / t).exists()]
    assert not missing


def test_every_page_of_the_documentation_is_in_its_table_of_contents():
    contents = (ROOT / "docs" / "index.md").read_text()
    pages = {page.stem for page in ROOT.glob("docs/*.md")} - {"index"}
    listed = {line.strip() for line in contents.splitlines()}
    assert pages <= listed
