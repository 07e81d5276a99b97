"""The files around the package: workflows, templates, metadata and the lowest versions agree with the code."""

import re
import sys
import tomllib
from pathlib import Path

import pytest

import kernelweave

yaml = pytest.importorskip("yaml")

ROOT = Path(__file__).parents[2]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PROJECT = PYPROJECT["project"]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
FORMS = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("[!c]*.yml"))
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), flags=re.M))


def read(path):
    return yaml.safe_load((ROOT / path).read_text())


def steps(workflow):
    return [step for job in read(workflow)["jobs"].values() for step in job["steps"]]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_has_what_github_requires(path):
    workflow = read(path)
    assert {"name", True, "permissions", "jobs"} <= set(workflow)  # YAML reads the key "on" as True
    for name, job in workflow["jobs"].items():
        assert re.fullmatch(r"[a-z][\w-]*", name)
        assert {"runs-on", "steps"} <= set(job)
        assert set(job.get("needs", "").split()) <= set(workflow["jobs"])
    for step in steps(path):
        assert ("run" in step) != ("uses" in step)
        if "uses" in step:
            assert re.fullmatch(r"[\w.-]+/[\w.-]+@[\w./-]+", step["uses"])


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_every_command_of_a_workflow_exists(path):
    commands = [step["run"].strip() for step in steps(path) if "run" in step]
    assert commands
    for command in commands:
        program, what = command.split()[:2]
        assert what in TARGETS if program == "make" else (ROOT / what).is_file(), command


def test_the_workflows_run_every_python_that_the_package_says_it_supports():
    matrix = read(".github/workflows/test.yml")["jobs"]["newest"]["strategy"]["matrix"]
    said = [text.rpartition(" ")[2] for text in PROJECT["classifiers"] if re.search(r"Python :: 3\.\d+$", text)]
    assert matrix["python"] == said
    assert PROJECT["requires-python"] == f">={said[0]}"
    assert {name.partition("-")[0] for name in matrix["os"]} == {"ubuntu", "macos", "windows"}


def test_the_workflows_test_lint_and_build_what_the_local_checks_do():
    local = re.findall(r"^make ([a-z-]+)$", (ROOT / ".ci" / "run").read_text(), flags=re.M)
    hosted = {step["run"].split()[1] for path in WORKFLOWS for step in steps(path) if "run" in step}
    assert {*local, "test-lowest", "wheel-check"} <= hosted


def test_only_the_release_may_publish_and_only_on_a_tag():
    for path in WORKFLOWS:
        workflow = read(path)
        assert workflow["permissions"] == {"contents": "read"}
        for job in workflow["jobs"].values():
            if "pypi" in str(job["steps"]):
                assert job["if"] == "startsWith(github.ref, 'refs/tags/')"
                assert job["permissions"] == {"id-token": "write"}


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.name)
def test_a_form_of_issues_has_what_github_requires(path):
    form = read(path)
    assert {"name", "description", "body"} <= set(form)
    for part in form["body"]:
        assert part["type"] in ("textarea", "input", "dropdown", "markdown", "checkboxes")
        assert part["attributes"]["label"]
    assert len({part["id"] for part in form["body"]}) == len(form["body"])


def test_dependabot_and_pre_commit_have_what_they_require():
    updates = read(".github/dependabot.yml")
    assert updates["version"] == 2
    assert {update["package-ecosystem"] for update in updates["updates"]} == {"github-actions", "pip"}
    hooks = [hook["id"] for repo in read(".pre-commit-config.yaml")["repos"] for hook in repo["hooks"]]
    assert {"ruff", "ruff-format", "check-yaml"} <= set(hooks)


def test_the_lowest_versions_are_those_of_the_project():
    lines = [*PROJECT["dependencies"], *(line for extra in PROJECT["optional-dependencies"].values() for line in extra)]
    wanted = dict(re.fullmatch(r"([\w-]+)(?:\[.*\])?>=([\d.]+)", line).groups() for line in lines if ">=" in line)
    lowest = dict(re.findall(r"^([\w-]+)==([\d.]+)$", (ROOT / "tools" / "lowest.txt").read_text(), flags=re.M))
    developers = PROJECT["optional-dependencies"]
    unused = {re.match(r"[\w-]+", line)[0] for extra in ("types", "check", "docs") for line in developers[extra]}
    assert set(wanted) - unused <= set(lowest)
    for name, version in wanted.items():
        if name not in unused:
            assert lowest[name].split(".")[: version.count(".") + 1] == version.split("."), name


def test_the_conda_recipe_requires_what_the_project_does():
    text = (ROOT / "recipe" / "meta.yaml").read_text()
    run = text.split("  run:")[1].split("\n\n")[0]
    found = {
        re.sub("-base$", "", name): version for name, version in re.findall(r"- ([\w-]+) >=([\d.]+)$", run, flags=re.M)
    }
    assert found == dict(line.split(">=") for line in PROJECT["dependencies"])
    filled = re.sub(r"^\{%.*%\}$", "", text, flags=re.M).replace("{{", "").replace("}}", "")
    assert {"package", "source", "build", "requirements", "test", "about", "extra"} == set(yaml.safe_load(filled))


@pytest.mark.skipif(not (ROOT / "src").exists(), reason="the tests run against an installed wheel, without src")
def test_every_place_names_the_same_version(monkeypatch, capsys):
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    import check_version

    assert set(check_version.versions().values()) == {kernelweave.__version__}
    monkeypatch.setattr(sys, "argv", ["check_version", "v99.0.0"])
    with pytest.raises(SystemExit, match=r"The versions differ: .*the tag 99\.0\.0"):
        check_version.main()


def test_a_link_within_the_documentation_that_leads_nowhere_is_named(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    import check_links

    (tmp_path / "sub").mkdir()
    (tmp_path / "index.html").write_text('<a href="sub/page.html#here">a</a><a href="https://x.org/no">b</a>')
    (tmp_path / "sub" / "page.html").write_text('<p id="here"><a href="../index.html">a</a><img src="../none.png">')
    assert check_links.broken_links(tmp_path) == ["sub/page.html: there is no ../none.png"]
    (tmp_path / "sub" / "page.html").write_text("<p>nothing has a name</p>")
    assert check_links.broken_links(tmp_path) == ["index.html: nothing is called sub/page.html#here"]
    monkeypatch.setattr(sys, "argv", ["check_links", str(tmp_path / "sub")])
    with pytest.raises(SystemExit, match=r"There is no documentation in .*: run make docs\."):
        check_links.main()


def test_the_citation_refers_to_the_paper():
    citation = read("CITATION.cff")
    assert {"cff-version", "message", "title", "authors"} <= set(citation)
    assert citation["license"] == PROJECT["license"]
    (paper,) = citation["references"]
    assert [author["family-names"] for author in paper["authors"]] == ["Kang", "Lu", "Yi", "Xu"]
    assert paper["doi"] in (ROOT / "paper.bib").read_text()


def test_the_paper_has_the_sections_that_joss_requires_and_cites_what_is_in_its_bibliography():
    head, body = re.fullmatch(r"---\n(.*?)\n---\n(.*)", (ROOT / "paper.md").read_text(), flags=re.S).groups()
    assert {"title", "tags", "authors", "affiliations", "date", "bibliography"} <= set(yaml.safe_load(head))
    sections = re.findall(r"^# (.+)$", body, flags=re.M)
    assert sections == [
        "Summary", "Statement of need", "State of the field", "Software design", "Research impact statement",
        "AI usage disclosure", "Acknowledgements", "References",
    ]  # fmt: skip
    assert 750 <= len(body.split()) <= 1750
    keys = re.findall(r"^@\w+\{(\w+),$", (ROOT / "paper.bib").read_text(), flags=re.M)
    assert set(re.findall(r"@(\w+)", body)) == set(keys)


def test_an_extra_that_the_code_asks_for_exists():
    asked = {
        name
        for path in Path(kernelweave.__file__).parent.rglob("*.py")
        for names in re.findall(r"kernelweave\[([\w,]+)\]", path.read_text())
        for name in names.split(",")
    }
    assert asked
    assert asked <= set(PROJECT["optional-dependencies"])


def test_layers_below_the_estimators_do_not_import_the_package_whose_attributes_are_all_layers():
    contracts = PYPROJECT["tool"]["importlinter"]["contracts"]
    (layers,) = [contract["layers"] for contract in contracts if contract["type"] == "layers"]
    below = layers[layers.index("kernelweave.estimators") + 1 :]
    package = Path(kernelweave.__file__).parent
    names = [name.removeprefix("kernelweave.") for layer in below for name in layer.split(" | ")]
    files = [path for name in names for path in (package / f"{name}.py", *(package / name).rglob("*.py"))]
    assert len(files) > 100
    found = [
        str(path) for path in files if path.exists() and re.search(r"^\s*import kernelweave\b", path.read_text(), re.M)
    ]
    assert found == []
