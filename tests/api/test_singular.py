"""Messages count in the singular where there is one: "1 sample", not "1 samples" or "1 sample(s)"."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import kernelweave
from kernelweave import Dense, SMKLClustering, WeaveClassifier, WeaveClustering, runtime
from kernelweave.baselines import RMKKM, KernelKMeans
from kernelweave.errors import InvalidInputError, NotEnoughMemoryError
from kernelweave.explain import associate
from kernelweave.kernels import Gaussian, KernelBank, SelfTuning
from kernelweave.metrics import purity
from kernelweave.samples import Views

X = np.random.default_rng(0).normal(size=(20, 3))
SOURCE = Path(kernelweave.__file__).parent
CASES = {
    "X has 1 feature, but the bank": lambda: KernelBank([Gaussian()]).fit(X).grams(X[:, :1]),
    "X has 1 feature but Y has 3": lambda: Gaussian(1.0).gram(X[:, :1], X),
    "there is only 1 sample. Pass more": lambda: SelfTuning(2).fit(X[:1]),
    "View 'a' has 1 feature, but WeaveClustering is expecting 2 features": lambda: (
        WeaveClustering(2).fit(Views({"a": X[:, :2], "b": X})).predict(Views({"a": X[:, :1], "b": X}))
    ),
    "but X has 1 column.": lambda: WeaveClustering(2, views={"a": [0], "b": [1]}).fit(X[:, :1]),
    "y has 1 label for 20 samples": lambda: WeaveClassifier().fit(X, [0]),
    "one number for the only kernel; got shape (2,)": lambda: WeaveClustering(
        2, kernels=[Gaussian()], weights=[1, 2], solver=Dense()
    ).fit(X),
    "X holds 1 NaN or infinite value;": lambda: KernelBank([Gaussian()]).fit(
        np.where(np.arange(60).reshape(20, 3) == 0, np.nan, X)
    ),
    "Found 1 sample in X": lambda: WeaveClustering(2).fit(pd.DataFrame({"a": ["x"], "b": [1.0]})),
    "got 1 dimension, shape (3,)": lambda: Gaussian(1.0).gram(X[0], X),
    "View 'b' has no index to align its 2 rows by, but 'a' has, of 1 sample:": lambda: Views(
        {"a": pd.DataFrame(X[:1], index=["p"]), "b": X[:2]}
    ),
    "must be a mask of 1 sample, their positions": lambda: Views({"a": X[:1]}, missing={"a": [True, False]}),
    "must hold every sample once, 1 sample.": lambda: Views(
        {"a": pd.DataFrame(X[:1], index=["p"])}, missing={"a": pd.Series([True], index=["q"])}
    ),
    "Found array with 1 sample (shape=(1, 3)) while": lambda: WeaveClustering(1).fit(X[:1]),
    "got 2 and 1 label: pass": lambda: purity([0, 1], [0]),
    "too small for 2 kernels": lambda: RMKKM(2, kernels=[Gaussian(), Gaussian(2.0)], gamma=1e-6).fit(X),
}


@pytest.mark.parametrize("message", CASES)
def test_one_is_counted_in_the_singular(message):
    with pytest.raises(InvalidInputError, match=re.escape(message)):
        CASES[message]()


@pytest.mark.parametrize(
    ("model", "told", "advice"),
    [
        (KernelKMeans(2), "20 samples and 1 kernel needs", "or fewer samples."),
        (SMKLClustering(2), "20 samples and 12 kernels needs", "or fewer samples or kernels."),
    ],
)
def test_a_model_of_one_kernel_is_not_told_to_take_fewer(monkeypatch, model, told, advice):
    monkeypatch.setattr(runtime, "available_memory", lambda *_: 1)
    with pytest.raises(NotEnoughMemoryError, match=re.escape(told)) as raised:
        model.fit(X)
    assert advice in str(raised.value)


def test_one_rare_category_is_counted_in_the_singular():
    rare = pd.DataFrame({"id": [f"s{i}" for i in range(51)]})
    assert associate(np.arange(51) % 2, rare, n_permutations=9).of("id").columns[-1] == "1 other"


def test_views_of_one_sample_count_it_in_the_singular():
    assert repr(Views({"a": X[:1]})) == "Views(a: 1 of 1 sample, 3 columns)"


def test_no_message_leaves_the_number_open():
    found = [
        f"{path.name}: {line.strip()}"
        for path in SOURCE.rglob("*.py")
        for line in path.read_text(encoding="utf-8").splitlines()
        if re.search(r"\b(value|sample|dimension|feature|column|label|kernel|row|file)\(s\)", line)
    ]
    assert found == []
