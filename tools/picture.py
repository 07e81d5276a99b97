"""Draw the picture of the README, an answer for scikit-learn's wines: `make picture`."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.text import Annotation
from sklearn.datasets import load_wine

from kernelweave import WeaveClustering
from kernelweave.explain import explain_clusters
from kernelweave.plots import plot_embedding, plot_features

PICTURE = Path(__file__).parents[1] / "docs" / "_static" / "answer.png"


def main() -> None:
    """Cluster the wines, and draw their map and what sets the clusters apart."""
    wines = load_wine(as_frame=True).data
    model = WeaveClustering(n_clusters="auto", random_state=0).fit(wines)
    print(model.cluster_evidence_.words)
    with mpl.rc_context({"font.family": "DejaVu Sans", "savefig.facecolor": "white"}):
        figure = Figure(figsize=(9.6, 3.9), layout="constrained")
        left, right = figure.subplots(1, 2, width_ratios=(1, 1.2))
        plot_embedding(model, ax=left)
        plot_features(explain_clusters(model, wines), ax=right)
        left.set(xlabel="embedding", ylabel="")
        titles = {left: "178 wines in 3 clusters", right: "What sets them apart, in standard deviations"}
        for ax, title in titles.items():
            for text in [text for text in ax.texts if isinstance(text, Annotation)]:
                text.remove()  # the line below the title, which says less than the new title
            ax.set_title(title, loc="left", fontsize=11, fontweight="bold", pad=8)
        figure.savefig(PICTURE, dpi=130, metadata={"Software": None})
    print(f"{PICTURE.name}: {PICTURE.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
