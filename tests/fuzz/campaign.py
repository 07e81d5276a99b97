"""A long run of cases and hostile files: it can be stopped and resumed, and ends with a summary."""

from __future__ import annotations

import argparse
import json
import re
import signal
import sys
import traceback
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.fuzz.cases import Call, Case, make_case, run_case
from tests.fuzz.oracle import Outcome

_CPU_SECONDS = 30  # of one case; an ordinary one takes hundredths of a second


class HangError(BaseException):
    """A case used so much processor time that it would hardly end; not an Exception, so that no code handles it."""


def _stop(*_: Any) -> None:
    raise HangError


def watched(case: Case) -> Iterator[Call]:
    """Run one case as `run_case` does; a case that does not end is an outcome too."""
    signal.signal(signal.SIGVTALRM, _stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, _CPU_SECONDS)
    try:
        yield from run_case(case)
    except HangError as error:
        frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "/kernelweave/" in frame.filename]
        where = " < ".join(f"{Path(frame.filename).name}:{frame.lineno}" for frame in reversed(frames[-4:]))
        yield Call("case", Outcome("hang", f"more than {_CPU_SECONDS} s of processor time ({where})"))
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


class Record:
    """What came out so far, kept in a folder."""

    def __init__(self, folder: Path, seed: int) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / f"seed-{seed}.json"
        known: dict[str, Any] = json.loads(self.path.read_text()) if self.path.exists() else {}
        self.next = known.get("next", 0)
        self.counts = Counter(known.get("counts", {}))
        self.bad: list[list[Any]] = known.get("bad", [])

    def write(self) -> None:
        text = json.dumps({"next": self.next, "counts": self.counts, "bad": self.bad})
        self.path.with_suffix(".new").write_text(text)
        self.path.with_suffix(".new").replace(self.path)


def kind_of(text: str) -> str:
    """Return the text of an outcome without what differs from case to case."""
    return re.sub(r"[-\d.]+(e[-+]?\d+)?|'[^']*'", "#", text)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cases", type=int, default=1000, help="how many more cases to run")
    parser.add_argument("--folder", type=Path, default=Path(".fuzz"), help="where the record is kept")
    parser.add_argument("--files", type=int, default=0, help="how many hostile files to read")
    parser.add_argument("--case", type=int, help="run this case of the seed alone, and print its calls")
    given = parser.parse_args()
    if given.case is not None:
        case = make_case(given.seed, given.case)
        for call in watched(case):
            print(call.name, call.outcome)
        print(case)
        return
    record = Record(given.folder, given.seed)
    for index in range(record.next, record.next + given.cases):
        record.next = index + 1
        for call in watched(make_case(given.seed, index)):
            record.counts[call.outcome.kind] += 1
            if call.outcome.is_bad:
                record.bad.append([index, call.name, call.outcome.kind, call.outcome.text])
        if index % 50 == 0:
            record.write()
    record.write()
    print(dict(record.counts))
    kinds = Counter(f"{kind}: {kind_of(text)}" for _, _, kind, text in record.bad)
    for kind, count in kinds.most_common(60):
        example = next(b for b in record.bad if f"{b[2]}: {kind_of(b[3])}" == kind)
        print(f"{count:5d}  case {example[0]}  {example[1]}  {example[2]}: {example[3]}")
    sys.exit(bool(record.bad))
