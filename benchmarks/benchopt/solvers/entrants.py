"""The methods of kernelweave's leaderboard, each with its one default and the samples that it is given there."""

import warnings

import numpy as np
from benchopt import BaseSolver

from kernelweave.leaderboard import default_entrants, find_entrant
from kernelweave.leaderboard.trial_data import TrialData, prepare

METHODS = [entrant.name for entrant in default_entrants() if entrant.role == "clusterer"]


class Solver(BaseSolver):
    """A method by its name, or a class of your own as ``module:Class``."""

    name = "kernelweave"
    parameters = {"method": METHODS, "seed": [0]}  # noqa: RUF012
    sampling_strategy = "run_once"

    def set_objective(self, views, n_clusters):
        """Scale the samples as the method is given them; this is not timed."""
        entrant = find_entrant(self.method)
        self.samples = prepare(entrant, TrialData(views, np.zeros(views.n_samples, dtype=np.int64)))
        self.model = entrant.build(n_clusters, self.seed)

    def run(self, _):
        """Find the clusters."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.model.fit(self.samples)

    def get_result(self):
        """Return the clusters; samples that a method calls noise are one more."""
        return {"labels": np.unique(self.model.labels_, return_inverse=True)[1]}
