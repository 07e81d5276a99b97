"""Clustering without labels: how well clusters agree with classes that no method has seen."""

from benchopt import BaseObjective

from kernelweave.leaderboard.trial_data import TrialData
from kernelweave.metrics import clustering_accuracy, normalized_mutual_information


class Objective(BaseObjective):
    """One minus the clustering accuracy; NMI beside it."""

    name = "Clustering without labels"
    url = "https://github.com/kernelweave/kernelweave"
    min_benchopt_version = "1.6"
    sampling_strategy = "run_once"

    def set_data(self, views, y):
        """Keep the samples, and the classes that score the clusters."""
        self.data = TrialData(views, y)

    def get_objective(self):
        """Return what a method is given: the samples and the number of clusters."""
        return {"views": self.data.views, "n_clusters": self.data.n_classes}

    def evaluate_result(self, labels):
        """Return the scores of the clusters."""
        accuracy = clustering_accuracy(self.data.y, labels)
        return {"value": 1 - accuracy, "acc": accuracy, "nmi": normalized_mutual_information(self.data.y, labels)}

    def get_one_result(self):
        """Return a result for benchopt's own tests: the classes themselves."""
        return {"labels": self.data.y}
