"""Build the wheel and the source archive, and try the wheel where the source tree is not: `make wheel-check`.

In a fresh environment for each set of extras (the core alone, [cli], [large], [all]) the code of the README runs, and
`kernelweave demo` writes its reports; with [cli] a table is clustered, with the core alone the reason why not is
checked; with [all] the template of a plugin is installed and tested. `--tests` runs the test suite against the wheel.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
DIST = ROOT / "dist"
SETS = ("core", "cli", "large", "all")
SCRIPTS = "Scripts" if os.name == "nt" else "bin"
ALONE = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "KERNELWEAVE_DATA")}


def run(*command: str | Path, folder: Path, check: bool = True) -> subprocess.CompletedProcess[str]:
    """Run a command without the source tree on its path; show its output if it fails."""
    done = subprocess.run([*map(str, command)], cwd=folder, env=ALONE, capture_output=True, text=True)
    if check and done.returncode:
        sys.exit(f"{' '.join(map(str, command))[:300]} failed:\n{done.stdout}\n{done.stderr}")
    return done


def environment(folder: Path, *packages: str) -> Path:
    """Make a virtual environment with packages; return the folder of its programs."""
    run(sys.executable, "-m", "venv", folder, folder=folder.parent)
    programs = folder / SCRIPTS
    if packages:
        run(programs / "python", "-m", "pip", "install", "--quiet", *packages, folder=folder.parent)
    return programs


def build(folder: Path) -> Path:
    """Build both archives into dist, and the wheel once more from the source archive; return the wheel."""
    shutil.rmtree(DIST, ignore_errors=True)
    python = environment(folder / "build", "build") / "python"
    run(python, "-m", "build", "--sdist", "--wheel", "--outdir", DIST, ROOT, folder=folder)
    (wheel,), (sdist,) = DIST.glob("*.whl"), DIST.glob("*.tar.gz")
    shutil.unpack_archive(sdist, folder / "source")
    (source,) = (folder / "source").iterdir()
    run(python, "-m", "build", "--wheel", "--outdir", folder / "again", source, folder=folder)
    (again,) = (folder / "again").glob("*.whl")
    if contents(wheel) != contents(again):
        different = sorted(set(contents(wheel).items()) ^ set(contents(again).items()))
        sys.exit(
            f"The wheel from the source archive differs from that of the tree: {sorted({n for n, _ in different})}"
        )
    print(f"{wheel.name}, {wheel.stat().st_size / 1e6:.1f} MB; {sdist.name}, {sdist.stat().st_size / 1e6:.1f} MB")
    return wheel


def contents(wheel: Path) -> dict[str, int]:
    """Return the checksum of every file in a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        return {info.filename: info.CRC for info in archive.infolist()}


def readme_code() -> str:
    """Return the blocks of the README as one program."""
    return "\n".join(re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), flags=re.S))


def try_wheel(wheel: Path, extras: str, folder: Path) -> Path:
    """Install the wheel with some extras, and use it; return the folder of the environment's programs."""
    wanted = str(wheel) if extras == "core" else f"{wheel}[{extras}]"
    programs = environment(folder / f"env-{extras}", wanted)
    python, place = programs / "python", folder / f"work-{extras}"
    place.mkdir()
    where = run(python, "-c", "import kernelweave; print(kernelweave.__file__)", folder=place).stdout
    if str(ROOT) in where:
        sys.exit(f"The source tree was imported, not the wheel: {where}")
    run(python, "-m", "pip", "check", folder=place)
    (place / "readme.py").write_text(readme_code(), encoding="utf-8")
    run(python, "readme.py", folder=place)
    run(programs / "kernelweave", "demo", "--samples", "200", "--quiet", folder=place)
    for page in ("report.html", "classes.html"):
        if (place / "demo" / page).stat().st_size < 10_000:
            sys.exit(f"kernelweave demo wrote a {page} without content")
    try_table(programs, place, works=extras in ("cli", "all"))
    print(f"{extras}: README code, kernelweave demo and kernelweave cluster are as they should be")
    return programs


def try_table(programs: Path, place: Path, *, works: bool) -> None:
    """Cluster a table on the command line; without the extra [cli] this must name the extra in one line."""
    lines = "".join(f"s{i},{i % 3 + 0.01 * i},{i % 3 * 2}\n" for i in range(60))
    (place / "table.csv").write_text("name,a,b\n" + lines)
    done = run(programs / "kernelweave", "cluster", "table.csv", "-k", "3", "--id", "name", folder=place, check=works)
    if works and not (place / "table-clusters" / "labels.csv").exists():
        sys.exit(f"kernelweave cluster wrote no labels:\n{done.stdout}")
    if not works and not (done.returncode == 2 and 'pip install "kernelweave[cli]"' in done.stderr):
        sys.exit(f"Without the extra, kernelweave cluster should say how to install it; it said:\n{done.stderr}")


def try_plugin(programs: Path, folder: Path) -> None:
    """Install the template of a plugin, and run its tests."""
    template = shutil.copytree(ROOT / "examples" / "plugin_template", folder / "plugin")
    run(programs / "python", "-m", "pip", "install", "--quiet", "pytest", template, folder=folder)
    run(programs / "python", "-m", "pytest", "-q", "tests", folder=template)
    print("all: the template of a plugin installs, and its tests pass")


def run_tests(wheel: Path, folder: Path) -> None:
    """Run the test suite against the wheel, in a copy of the repository without src."""
    python = environment(folder / "env-test", f"{wheel}[test]") / "python"
    (source,) = (folder / "source").iterdir()
    shutil.rmtree(source / "src")
    done = subprocess.run([str(python), "-m", "pytest", "-q", "-n", "auto"], cwd=source, env=ALONE)
    if done.returncode:
        sys.exit("The test suite fails against the wheel")


def main() -> None:
    """Build, then try the sets of extras that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("sets", nargs="*", default=[], help="core, cli, large, all; every one if none is given")
    parser.add_argument("--build-only", action="store_true", help="build and compare the archives, and stop")
    parser.add_argument("--tests", action="store_true", help="run the test suite against the wheel as well")
    given = parser.parse_args()
    if unknown := set(given.sets) - set(SETS):
        parser.error(f"unknown: {', '.join(sorted(unknown))}; choose of {', '.join(SETS)}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        wheel = build(folder)
        if given.build_only:
            return
        for extras in given.sets or SETS:
            programs = try_wheel(wheel, extras, folder)
            if extras == "all":
                try_plugin(programs, folder)
        if given.tests:
            run_tests(wheel, folder)


if __name__ == "__main__":
    main()
