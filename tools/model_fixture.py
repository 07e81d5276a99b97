"""Store models of this version in tests/files/data: `make model-fixture`.

Later versions must load the files and predict as stored. Run it once for each released version, last thing before the
release; files of earlier versions are never written again.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np

import kernelweave
from kernelweave import SMKLClassifier, SMKLClustering, WeaveClassifier, WeaveClustering
from kernelweave.kernels import Cosine, Gaussian

FOLDER = Path(__file__).parents[1] / "tests" / "files" / "data" / kernelweave.__version__
CENTRES = np.array([[0.0, 0.0, 0.0], [9.0, 0.0, 3.0], [0.0, 9.0, -3.0]])


def samples() -> tuple[np.ndarray, np.ndarray]:
    """Return 30 samples of three groups that are far apart, and their groups; one in five is labelled."""
    rng = np.random.default_rng(0)
    group = np.repeat(range(3), 10)
    X = (CENTRES[group] + rng.normal(size=(30, 3))).round(3)
    return X, np.where(np.arange(30) % 5 == 0, group, -1)


def models() -> dict[str, Any]:
    """Return one model of each kind, not fitted."""
    return {
        "weave_clustering": WeaveClustering(3, random_state=0),
        "weave_clustering_views": WeaveClustering(3, views={"a": [0, 1], "b": [2]}, random_state=0),
        "weave_clustering_local": WeaveClustering(3, solver="local", random_state=0),
        "weave_clustering_landmark": WeaveClustering(3, solver="landmark", random_state=0),
        "weave_classifier": WeaveClassifier(kernels=[Gaussian(t=0.3), Cosine() + Gaussian(t=1)]),
        "smkl_clustering": SMKLClustering(3, random_state=0),
        "smkl_classifier": SMKLClassifier(),
    }


def main() -> None:
    """Fit, save, and write down what the models predict for new samples."""
    X, y = samples()
    new = (CENTRES[[0, 1, 2, 2]] + 0.5).round(3)
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    answers: dict[str, Any] = {"new": new.tolist(), "models": {}}
    for name, model in models().items():
        model.fit(X, y)
        model.save(FOLDER / f"{name}.kw")
        answers["models"][name] = {
            "class": type(model).__name__,
            "fitted": np.asarray(getattr(model, "labels_", getattr(model, "transduction_", None))).tolist(),
            "predicted": model.predict(new).tolist(),
            "probabilities": model.predict_proba(new).round(6).tolist(),
        }
    (FOLDER / "answers.json").write_text(json.dumps(answers, indent=1) + "\n")
    size = sum(path.stat().st_size for path in FOLDER.iterdir())
    print(f"{len(answers['models'])} models, {size / 1024:.0f} kB: {FOLDER}")


if __name__ == "__main__":
    main()
