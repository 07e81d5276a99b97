"""
A few labels: classify a thousand digits from thirty
=====================================================

Labels are expensive. Here three images of each digit are labelled; the labels of the others are inferred from the graph
of all images.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

from kernelweave import WeaveClassifier
from kernelweave.datasets import mask_labels
from kernelweave.plots import plot_embedding

X, digit = (part[:1000] for part in load_digits(return_X_y=True))
rng = np.random.default_rng(0)
labelled = np.zeros(len(X), dtype=bool)
for k in range(10):
    labelled[rng.choice(np.flatnonzero(digit == k), 3, replace=False)] = True
y = mask_labels(digit, labelled)  # -1 where the label is not known

# %%
model = WeaveClassifier().fit(X, y)
right = model.transduction_ == digit
print(f"{right[~labelled].mean():.1%} of the {np.count_nonzero(~labelled)} unlabelled digits are right")

# class_mass=True gives the classes the shares that they have among the labels, here about those among all samples
balanced = WeaveClassifier(class_mass=True).fit(X, y)
print(f"{(balanced.transduction_ == digit)[~labelled].mean():.1%} with class_mass=True")

supervised = LogisticRegression(max_iter=1000).fit(X[labelled], digit[labelled])
print(f"{supervised.score(X[~labelled], digit[~labelled]):.1%} for logistic regression on the same labels")

# %%
# How certain are the labels?
# ---------------------------
# ``label_distributions_`` holds the probability of every class. Samples whose most probable class has a low probability
# are more often wrong:
sure = model.label_distributions_.max(axis=1)[~labelled]
edges = np.quantile(sure, [0, 0.25, 0.5, 0.75, 1])
quarter = np.clip(np.searchsorted(edges, sure, side="right") - 1, 0, 3)
for q in range(4):
    print(f"quarter {q + 1}: right {right[~labelled][quarter == q].mean():.1%}")

# %%
plot_embedding(model)
plt.show()
