"""A long run of random calls and hostile files: it can be stopped and resumed, and ends with a summary."""

from __future__ import annotations

import argparse
import json
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tests.fuzz.cases import Call, make_case, run_case
from tests.fuzz.files import run_file
from tests.fuzz.oracle import Outcome

_CPU_SECONDS = 60  # of one case; an ordinary one takes hundredths of a second
_EVERY = 200  # cases between two records


class HangError(BaseException):
    """A case used so much processor time that it would hardly end; not an Exception, so that no code handles it."""


def _stop(*_: Any) -> None:
    raise HangError


def watched(calls: Iterator[Call]) -> Iterator[Call]:
    """Return the calls of one case; if it does not end, that is an outcome too."""
    signal.signal(signal.SIGVTALRM, _stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, _CPU_SECONDS)
    try:
        yield from calls
    except HangError as error:
        frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "/kernelweave/" in frame.filename]
        where = " < ".join(f"{Path(frame.filename).name}:{frame.lineno}" for frame in reversed(frames[-4:]))
        yield Call("case", Outcome("hang", f"more than {_CPU_SECONDS} s of processor time ({where})"))
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


class Record:
    """What came out so far, kept in a folder: counts, and bad outcomes with their cases."""

    def __init__(self, path: Path) -> None:
        self.path = path
        known: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
        self.next = known.get("next", 0)
        self.counts = Counter(known.get("counts", {}))
        self.bad: list[list[Any]] = known.get("bad", [])

    def take(self, calls: Iterator[Call]) -> bool:
        """Count the calls of the next case; return whether one was bad."""
        bad = False
        for call in watched(calls):
            self.counts[call.outcome.kind] += 1
            if call.outcome.is_bad:
                self.bad.append([self.next, call.name, call.outcome.kind, call.outcome.text])
                bad = True
        self.next += 1
        if self.next % _EVERY == 0:
            self.write()
        return bad

    def write(self) -> None:
        """Replace the file by one of what came out so far."""
        new = self.path.with_suffix(".new")
        new.write_text(json.dumps({"next": self.next, "counts": self.counts, "bad": self.bad}))
        new.replace(self.path)

    def lines(self) -> list[str]:
        """Return the counts, and every kind of bad outcome with its number and an example."""
        kinds = Counter(f"{kind}: {kind_of(text)}" for _, _, kind, text in self.bad)
        examples = {f"{kind}: {kind_of(text)}": f"case {i}, {name}, {kind}: {text}" for i, name, kind, text in self.bad}
        total = sum(self.counts.values())
        each = ", ".join(f"{count} {kind}" for kind, count in sorted(self.counts.items()))
        counted = f"{self.next} cases, {total} calls: {each}; {len(self.bad)} bad"
        return [counted, *(f"{count} x {examples[kind]}" for kind, count in kinds.most_common())]


def kind_of(text: str) -> str:
    """Return the text of an outcome without what differs from case to case."""
    return re.sub(r"[-\d.]+(e[-+]?\d+)?|'[^']*'", "#", text)


def _campaign(seed: int, cases: int, files: int, folder: Path) -> list[Record]:
    """Run more cases and hostile files of a seed; those files that did harm are kept in the folder."""
    calls, hostile = Record(folder / f"calls-{seed}.json"), Record(folder / f"files-{seed}.json")
    try:
        for _ in range(cases):
            calls.take(run_case(make_case(seed, calls.next)))
        for _ in range(files):
            with tempfile.TemporaryDirectory() as place:
                index = hostile.next
                if hostile.take(run_file(seed, index, Path(place))):
                    shutil.copytree(place, folder / f"file-{seed}-{index}", dirs_exist_ok=True)
    finally:
        calls.write()
        hostile.write()
    return [calls, hostile]


def _summary(seed: int, records: list[Record]) -> str:
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    text = f"Seed {seed}, commit {commit.stdout.strip() or 'unknown'}.\n"
    for title, record in zip(("Calls of estimators", "Hostile files"), records, strict=True):
        text += f"\n{title}: " + "\n- ".join(record.lines()) + "\n"
    return text


def _print_calls(calls: Iterator[Call], describe: Callable[[], object]) -> None:
    for call in watched(calls):
        print(call.name, call.outcome.kind, call.outcome.text)
    print(describe())


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cases", type=int, default=1000, help="how many more cases of estimators to run")
    parser.add_argument("--files", type=int, default=100, help="how many more hostile files to read")
    parser.add_argument("--folder", type=Path, default=Path(".fuzz"), help="where the record is kept")
    parser.add_argument("--case", type=int, help="run this case of the seed alone, and print its calls")
    parser.add_argument("--file", type=int, help="read this hostile file of the seed alone, and keep it in the folder")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    if given.case is not None:
        case = make_case(given.seed, given.case)
        _print_calls(run_case(case), lambda: case)
    elif given.file is not None:
        _print_calls(run_file(given.seed, given.file, given.folder), lambda: f"kept in {given.folder}")
    else:
        records = _campaign(given.seed, given.cases, given.files, given.folder)
        print(_summary(given.seed, records))
        sys.exit(any(record.bad for record in records))
