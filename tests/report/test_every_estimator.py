"""The plots and the report read what the estimators learn, whichever solver fitted them."""

import inspect
import re
from copy import copy
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib.figure import Figure
from sklearn.base import BaseEstimator
from sklearn.datasets import make_blobs

from kernelweave import baselines, estimators, plots
from kernelweave.errors import InvalidInputError
from kernelweave.report import model_report
from kernelweave.report._facts import read_facts
from kernelweave.report._words import snippet
from kernelweave.weave.choice import SOLVERS

PLOTS = [getattr(plots, name) for name in plots.__all__]
PLOTS = [plot for plot in PLOTS if "model" in inspect.signature(plot).parameters]
KINDS = [getattr(module, name) for module in (estimators, baselines) for name in module.__all__]
KINDS = [kind for kind in KINDS if inspect.isclass(kind) and issubclass(kind, BaseEstimator)]
PAPER = [kind for kind in KINDS if kind.__name__.startswith(("KGL", "PMKL", "SMKL"))]
SETTINGS = [(kind, solver) for kind in KINDS for solver in (SOLVERS if "solver" in kind().get_params() else (None,))]
pytestmark = pytest.mark.filterwarnings("ignore:The graph of")  # of AASC and SSR: see their notes
every_plot = pytest.mark.parametrize("plot", PLOTS, ids=lambda plot: plot.__name__)
every_model = pytest.mark.parametrize(
    ("kind", "solver"), SETTINGS, ids=lambda value: getattr(value, "__name__", str(value))
)


@pytest.fixture(scope="module")
def samples():
    X, y = make_blobs(60, centers=3, cluster_std=0.5, random_state=0)
    return X, y, np.arange(60) % 5 == 0


@pytest.fixture(scope="module")
def models(samples):
    """Fit every estimator once with every solver that it has."""
    X, y, labelled = samples
    fitted = {}

    def fit(kind, solver=None):
        if (kind, solver) not in fitted:
            given = {"n_clusters": 3, "random_state": 0, "tol": 0.1, "solver": solver}
            model = kind(**{name: value for name, value in given.items() if name in kind().get_params()})
            fitted[kind, solver] = model.fit(X, np.where(labelled, y, -1))
        return fitted[kind, solver]

    return fit


def axes():
    return Figure().subplots()


@every_plot
@every_model
def test_every_plot_draws_every_estimator_or_names_the_plots_that_do(kind, solver, plot, models):
    refusal = ""
    try:
        drawn = plot(models(kind, solver), ax=axes()).has_data()
    except InvalidInputError as error:
        drawn, refusal = False, str(error)
    other = re.search(r"which this plot draws: (draw it with plot_|no other plot)", refusal)
    assert drawn or (refusal.startswith(kind.__name__) and other and plot.__name__ not in refusal), refusal


@pytest.mark.parametrize("kind", PAPER, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize(
    "name", ["plot_weights", "plot_graph", "plot_embedding", "plot_convergence", "plot_confidence"]
)
def test_models_of_the_paper_are_drawn_by_these_plots(kind, name, models):
    assert getattr(plots, name)(models(kind), ax=axes()).has_data()


@pytest.mark.parametrize("solver", ["dense", "local"])
@pytest.mark.parametrize("name", ["plot_weights", "plot_graph", "plot_spectrum", "plot_embedding", "plot_confidence"])
def test_weave_clusters_with_a_graph_of_all_samples_are_drawn_by_these_plots(solver, name, models):
    assert getattr(plots, name)(models(estimators.WeaveClustering, solver), ax=axes()).has_data()


def test_a_model_without_a_graph_names_its_solver_and_the_plots_that_fit(models):
    model = models(estimators.WeaveClustering, "landmark")
    refusal = r"^WeaveClustering with solver='landmark' has no graph_, .*plot_weights or .*plot_spectrum"
    with pytest.raises(InvalidInputError, match=refusal):
        plots.plot_graph(model, ax=axes())


@every_model
def test_every_estimator_has_a_report(kind, solver, models, samples):
    X, y, labelled = samples
    model = models(kind, solver)
    page = model_report(model, X=X, y=y, labelled=None if hasattr(model, "labels_") else labelled)
    assert f"{kind.__name__}," in page
    assert "60 samples with 2 features were compared" in page


@pytest.mark.parametrize(("solver", "shown"), [("dense", True), ("local", True), ("landmark", False)])
def test_the_page_shows_a_spectrum_with_a_gap_after_the_number_of_clusters_only(solver, shown, models):
    model = models(estimators.WeaveClustering, solver)
    assert (np.diff(model.eigenvalues_) >= 0).all()
    assert (len(model.eigenvalues_) > model.n_clusters_) == shown
    assert ('id="h-spectrum"' in model_report(model)) == shown


@every_model
def test_the_code_of_every_report_imports_the_estimator_from_a_package(kind, solver, models):
    model = models(kind, solver)
    code = snippet(model, read_facts(model)).split("\n")[0]
    namespace = {}
    exec(code, namespace)
    assert namespace[kind.__name__] is kind
    assert code.count(".") < 2


def test_a_solver_of_another_package_may_keep_its_samples_in_any_form(models):
    model = copy(models(estimators.WeaveClustering, "local"))
    model._graph_model = replace(model._graph_model, joiner=SimpleNamespace(chunked=False, training=np.zeros((60, 2))))
    assert read_facts(model).views == ()
