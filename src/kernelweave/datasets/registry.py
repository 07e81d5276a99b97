"""The data sets of the paper: their files, shapes, sources and citations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from kernelweave.datasets.readers import LabelledTable
from kernelweave.errors import InvalidInputError, PluginError
from kernelweave.plugins import load_plugin, plugin_names

__all__ = ["DATASETS", "DatasetInfo", "dataset_info", "list_datasets"]

# The commit is pinned, so that the files match the checksums below.
RMKKM = "https://raw.githubusercontent.com/csliangdu/RMKKM/5f0cd9a3ae19/data/"
RMKKM_SOURCE = "github.com/csliangdu/RMKKM, commit 5f0cd9a3ae19, data/"
TREC = (
    "Y. Zhao and G. Karypis. Empirical and theoretical comparisons of selected criterion functions for "
    "document clustering. Machine Learning 55(3), 311-331, 2004."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetInfo:
    """The file, shape and origin of a data set.

    A data set of a plugin may have a reader of its own, a function of the path, as `format`. `folder` is where the file
    is if it comes with a package; all others are downloaded.
    """

    name: str
    filename: str
    url: str
    sha256: str
    n_samples: int
    n_features: int
    n_classes: int
    source: str
    citation: str
    preprocessing: str
    description: str
    format: Literal["mat", "yeast"] | Callable[[Path], LabelledTable] = "mat"
    folder: Path | None = None


DATASETS: tuple[DatasetInfo, ...] = (
    DatasetInfo(
        name="yale",
        filename="YALE_165n_1024d_15c_zscore_uni.mat",
        url=RMKKM + "YALE_165n_1024d_15c_zscore_uni.mat",
        sha256="c17321f95ba1746d30dbd1156afc67e28586f091675091f509c89c7b049e90db",
        n_samples=165,
        n_features=1024,
        n_classes=15,
        source=RMKKM_SOURCE,
        citation=(
            "P. N. Belhumeur, J. P. Hespanha and D. J. Kriegman. Eigenfaces vs. Fisherfaces: recognition using "
            "class specific linear projection. IEEE TPAMI 19(7), 711-720, 1997."
        ),
        preprocessing="Columns turned into z-scores, then rows scaled to unit length (as published).",
        description="Faces of 15 persons, 11 images each, 32 x 32 pixels. Sorted by person.",
    ),
    DatasetInfo(
        name="jaffe",
        filename="jaffe_213n_676d_10c_uni.mat",
        url=RMKKM + "jaffe_213n_676d_10c_uni.mat",
        sha256="3e9d9af73d5bd7d9afc5380ad68f1ecc8f471e6057f7e092409b91a4f5ed22c6",
        n_samples=213,
        n_features=676,
        n_classes=10,
        source=RMKKM_SOURCE,
        citation=(
            "M. Lyons, S. Akamatsu, M. Kamachi and J. Gyoba. Coding facial expressions with Gabor wavelets. "
            "IEEE Int. Conf. on Automatic Face and Gesture Recognition, 200-205, 1998."
        ),
        preprocessing="Rows scaled to unit length (as published).",
        description=(
            "Faces of 10 persons with 7 expressions, 26 x 26 pixels; 20 to 23 images of each person. The class is "
            "the person, not the expression. Sorted by person."
        ),
    ),
    DatasetInfo(
        name="yeast",
        filename="yeast.data",
        url="https://archive.ics.uci.edu/ml/machine-learning-databases/yeast/yeast.data",
        sha256="7cf61776fc04f527f93bf57a327b863893a1225d82df02d457e8950173218258",
        n_samples=1484,
        n_features=1470,
        n_classes=10,
        source="UCI Machine Learning Repository, yeast",
        citation=(
            "P. Horton and K. Nakai. A probabilistic classification system for predicting the cellular "
            "localization sites of proteins. ISMB, 109-115, 1996."
        ),
        preprocessing="Sequence names one-hot encoded; numbers as published, no scaling.",
        description=(
            "Proteins and the place in the cell where each is found. Sparse. Columns 0 to 7 are the measured "
            "numbers (mcg, gvh, alm, mit, erl, pox, vac, nuc); columns 8 to 1469 are the 1462 sequence names in "
            "alphabetical order, one-hot. The table has the 1470 columns that the paper states only with the names "
            "(the paper calls it microarray data); data[:, :8] is the table without them. Scaling rows to unit "
            "length gives worse results on this data set."
        ),
        format="yeast",
    ),
    DatasetInfo(
        name="tr11",
        filename="tr11_414n_6429d_9c_tfidf_uni.mat",
        url=RMKKM + "tr11_414n_6429d_9c_tfidf_uni.mat",
        sha256="fb31fbc4a61676019d13b74037d4b3ee732185124d50f45e118fa4bdb3ef6258",
        n_samples=414,
        n_features=6429,
        n_classes=9,
        source=RMKKM_SOURCE,
        citation=TREC,
        preprocessing="Term counts weighted by tf-idf, then rows scaled to unit length (as published).",
        description="Documents of the TREC collection by topic; 6 to 132 documents per topic. Sparse.",
    ),
    DatasetInfo(
        name="tr41",
        filename="tr41_878n_7454d_10c_tfidf_uni.mat",
        url=RMKKM + "tr41_878n_7454d_10c_tfidf_uni.mat",
        sha256="ee3dc04b8ee153dfc9e0cb6669303b3231ff39f6db82fe10ac98f1128eb83720",
        n_samples=878,
        n_features=7454,
        n_classes=10,
        source=RMKKM_SOURCE,
        citation=TREC,
        preprocessing="Term counts weighted by tf-idf, then rows scaled to unit length (as published).",
        description="Documents of the TREC collection by topic; 9 to 243 documents per topic. Sparse.",
    ),
    DatasetInfo(
        name="tr45",
        filename="tr45_690n_8261d_10c_tfidf_uni.mat",
        url=RMKKM + "tr45_690n_8261d_10c_tfidf_uni.mat",
        sha256="b7bf3f53b26684c96251d6e6c7bfeebd5876954dd73e4ff732ca7542d184c7a4",
        n_samples=690,
        n_features=8261,
        n_classes=10,
        source=RMKKM_SOURCE,
        citation=TREC,
        preprocessing="Term counts weighted by tf-idf, then rows scaled to unit length (as published).",
        description="Documents of the TREC collection by topic; 14 to 160 documents per topic. Sparse.",
    ),
    DatasetInfo(
        name="ba",
        filename="binaryalphadigs_1404n_320d_36c.mat",
        url=RMKKM + "binaryalphadigs_1404n_320d_36c.mat",
        sha256="f9f5067d97539dbc27cb6d5dab0dad46af83584d76703c4c17530618c4c4e512",
        n_samples=1404,
        n_features=320,
        n_classes=36,
        source=RMKKM_SOURCE,
        citation="S. Roweis. Binary Alphadigits. Data for MATLAB hackers, New York University.",
        preprocessing="None: pixels are 0 or 1.",
        description=(
            "Handwritten digits 0 to 9 and capitals A to Z, 20 x 16 pixels: 36 classes of 39 images (the paper "
            "says 39 classes). Sorted by class."
        ),
    ),
    DatasetInfo(
        name="coil20",
        filename="COIL20_1440n_1024d_20c.mat",
        url=RMKKM + "COIL20_1440n_1024d_20c.mat",
        sha256="3c5e3bb39ef8f125b1d4ccd681baefd9dd1def946a72cfe400a902352c71c732",
        n_samples=1440,
        n_features=1024,
        n_classes=20,
        source=RMKKM_SOURCE,
        citation=(
            "S. A. Nene, S. K. Nayar and H. Murase. Columbia Object Image Library (COIL-20). Technical Report "
            "CUCS-005-96, Columbia University, 1996."
        ),
        preprocessing="None: pixels lie between 0 and 1.",
        description="Objects on a turntable, 72 views 5 degrees apart, 32 x 32 pixels. Sorted by object.",
    ),
)


def list_datasets() -> list[str]:
    """Return the names of the data sets, in the order of the paper's tables, then those of plugins.

    Examples
    --------
    >>> list_datasets()
    ['yale', 'jaffe', 'yeast', 'tr11', 'tr41', 'tr45', 'ba', 'coil20']
    """
    own = [info.name for info in DATASETS]
    return own + [name for name in plugin_names("datasets") if name not in own]


def dataset_info(name: str) -> DatasetInfo:
    """Look up a data set's file, shape and origin, without reading or downloading it.

    Parameters
    ----------
    name : str
        One of `list_datasets`; upper and lower case are the same.

    Returns
    -------
    info : DatasetInfo
        File, address, checksum, shape, source, citation, preprocessing and description.

    Raises
    ------
    InvalidInputError
        If there is no data set of that name.

    Examples
    --------
    >>> dataset_info("YALE").n_classes
    15
    """
    known = {info.name: info for info in DATASETS}
    key = name.casefold() if isinstance(name, str) else None
    if key in known:
        return known[key]
    if key is None or key not in plugin_names("datasets"):
        msg = f"There is no data set {name!r}: choose one of {', '.join(list_datasets())}."
        raise InvalidInputError(msg)
    return _plugin(key)


def _plugin(name: str) -> DatasetInfo:
    found = load_plugin("datasets", name)
    if not isinstance(found, DatasetInfo) or found.name != name:
        msg = (
            f"{name!r} of the group kernelweave.datasets must be a kernelweave.datasets.DatasetInfo of that name; got "
            f"{found!r}. Update or uninstall the package."
        )
        raise PluginError(msg)
    return found
