"""
Documents: sparse tables and the number of clusters
===================================================

TR11 holds 414 newspaper articles of nine topics as tf-idf weights of 6,429 words. The table stays sparse.

The data set is downloaded once and checked. If it is not available, this page clusters the documentation of
scikit-learn's classes instead, whose topics are the modules, and says so below.
"""

# %%
from collections import Counter

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.utils.discovery import all_estimators

from kernelweave import WeaveClustering
from kernelweave.datasets import load_dataset
from kernelweave.errors import DataUnavailableError
from kernelweave.kernels import Cosine, Gaussian, KernelBank
from kernelweave.metrics import clustering_accuracy, normalized_mutual_information
from kernelweave.plots import plot_evidence


def class_documentation():
    """Return the docstrings of scikit-learn's classes as tf-idf weights, and their modules (eight classes or more)."""
    texts = [(str(cls.__doc__), cls.__module__.split(".")[1]) for _, cls in all_estimators()]
    modules = Counter(module for _, module in texts)
    texts = [(text, module) for text, module in texts if modules[module] >= 8]
    weights = TfidfVectorizer(stop_words="english", sublinear_tf=True).fit_transform([text for text, _ in texts])
    return weights, np.unique([module for _, module in texts], return_inverse=True)[1]


try:
    tr11 = load_dataset("tr11")
    articles, topic = tr11.data, tr11.target
except DataUnavailableError:
    print("TR11 is not available here: these are the docstrings of scikit-learn's classes.")
    articles, topic = class_documentation()
c = len(np.unique(topic))
print(type(articles).__name__, articles.shape, f"{articles.nnz / articles.shape[0]:.0f} words per article, {c} topics")

# %%
# Kernels for text
# ----------------
# The cosine of the angle between articles, and Gaussians of several widths, in one bank.
bank = KernelBank([Cosine(), *(Gaussian(t=t) for t in (0.1, 0.3, 1))])
model = WeaveClustering(c, kernels=bank, random_state=0).fit(articles)
for name, share in zip(model.kernel_names_, model.kernel_shares_, strict=True):
    print(f"{share:5.1%}  {name}")
print(f"accuracy {clustering_accuracy(topic, model.labels_):.3f}")
print(f"NMI {normalized_mutual_information(topic, model.labels_):.3f}")

# %%
# How many topics?
# ----------------
# ``n_clusters="auto"`` compares the articles with samples without structure: it takes a number after which the
# eigenvalues have a clear gap, or else one that different graphs agree on. Take it as a suggestion: the number of
# topics above is that of the people who sorted the articles.
auto = WeaveClustering("auto", random_state=0).fit(articles)
print(f"suggested: {auto.n_clusters_}; topics: {c}; {auto.cluster_evidence_.words}")
plot_evidence(auto)
plt.show()
