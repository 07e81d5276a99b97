"""The data sets of kernelweave, capped and prepared as in its leaderboard."""

from benchopt import BaseDataset

from kernelweave.leaderboard import Protocol
from kernelweave.leaderboard.trial_data import trial_data


class Dataset(BaseDataset):
    """A data set by its name; `kernelweave datasets list` shows all of them."""

    name = "kernelweave"
    parameters = {"dataset": ["iris", "wine", "digits", "breast-cancer"], "max_samples": [1500]}  # noqa: RUF012
    test_parameters = {"dataset": ["iris"], "max_samples": [60]}  # noqa: RUF012

    def get_data(self):
        """Return the views and the classes."""
        data = trial_data(self.dataset, "plain", 0, Protocol(max_samples=self.max_samples), None)
        return {"views": data.views, "y": data.y}
