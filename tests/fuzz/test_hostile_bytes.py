"""Files with bytes changed are refused with a reason, or read as if nothing was; `make fuzz` reads more of them."""

import pytest

from tests.fuzz.files import run_file

SEED = 20261


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # of the models that are saved
@pytest.mark.parametrize("turn", range(6))
def test_a_hostile_file_is_refused_with_a_reason_or_does_no_harm(turn, tmp_path):
    for index in range(30 * turn, 30 * turn + 30):
        for call in run_file(SEED, index, tmp_path):
            assert not call.outcome.is_bad, f"seed {SEED}, file {index}: {call.name} {call.outcome}"
