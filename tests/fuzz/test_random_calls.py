"""A few hundred random calls of all estimators: good and finite, or refused with a reason. `make fuzz` runs more."""

import pytest

from tests.fuzz.cases import ESTIMATORS, make_case, run_case

SEED = 20260
TURNS = 14  # cases of every estimator, and more if they are all hostile or all harmless


@pytest.fixture(autouse=True)
def little_memory(monkeypatch):
    monkeypatch.setenv("KERNELWEAVE_MEMORY", "1e9")


@pytest.mark.parametrize("place", range(len(ESTIMATORS)), ids=[cls.__name__ for cls in ESTIMATORS])
def test_every_call_of_an_estimator_answers_with_finite_numbers_or_refuses_with_a_reason(place):
    kinds = set()
    for turn in range(5 * TURNS):
        if turn >= TURNS and kinds == {"good", "refused"}:
            break
        index = place + turn * len(ESTIMATORS)
        case = make_case(SEED, index)
        for call in run_case(case):
            kinds.add(call.outcome.kind)
            assert not call.outcome.is_bad, f"seed {SEED}, case {index}: {call.name} {call.outcome}\n{case}"
    assert kinds == {"good", "refused"}  # the draws are neither all hostile nor all harmless
