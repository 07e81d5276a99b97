"""Cells as AnnData and MuData objects, made by the real packages."""

import numpy as np
import pytest


@pytest.fixture(scope="package")
def kinds():
    """The type of each of 90 cells: 40, 30 and 20 of a kind, in no order."""
    rng = np.random.default_rng(0)
    return rng.permutation(np.repeat([0, 1, 2], [40, 30, 20]))


@pytest.fixture(scope="package")
def counts(kinds):
    """Counts of 30 genes, whose mean depends on the type of the cell."""
    rng = np.random.default_rng(1)
    return rng.poisson(20 * rng.gamma(0.5, size=(3, 30))[kinds]).astype(float)


@pytest.fixture
def adata(kinds, counts):
    """An AnnData object with a layer, two representations, and a column of types of which two in three are missing."""
    anndata = pytest.importorskip("anndata")
    import pandas as pd

    rng = np.random.default_rng(2)
    known = np.array(["T", "B", "NK"], dtype=object)[kinds]
    known[np.arange(len(kinds)) % 3 > 0] = np.nan
    names = [f"cell{i}" for i in rng.permutation(len(kinds))]
    data = anndata.AnnData(rng.normal(size=counts.shape), obs=pd.DataFrame({"type": known}, index=names))
    data.layers["counts"] = counts
    data.obsm["X_log"] = np.log1p(counts)
    data.obsm["protein"] = np.eye(3)[kinds] + 0.05 * rng.normal(size=(len(kinds), 3))
    return data


@pytest.fixture
def mdata(adata):
    """A MuData object: RNA of all cells, and protein of most of them, in another order."""
    mudata = pytest.importorskip("mudata")
    anndata = pytest.importorskip("anndata")

    rna = anndata.AnnData(adata.obsm["X_log"], obs=adata.obs[[]].copy())
    some = np.random.default_rng(3).permutation(adata.n_obs)[:70]
    protein = anndata.AnnData(adata.obsm["protein"][some], obs=adata.obs[[]].iloc[some].copy())
    rna.var_names, protein.var_names = [f"gene{j}" for j in range(30)], ["CD3", "CD19", "CD56"]
    with mudata.set_options(pull_on_update=False):
        yield mudata.MuData({"rna": rna, "protein": protein})
