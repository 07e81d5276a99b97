"""The pages of the documentation are those of the stored rows."""

from benchmarks import leaderboard
from kernelweave.datasets import list_datasets
from kernelweave.leaderboard import standings
from kernelweave.leaderboard.leaderboard_tables import read_rows


def test_the_pages_are_written_from_the_stored_rows():
    assert leaderboard.PAGE.read_text(encoding="utf-8") == leaderboard.page()
    assert leaderboard.HTML.read_text(encoding="utf-8") == leaderboard.html()
    text = leaderboard.COMPARISON.read_text(encoding="utf-8")
    assert text == leaderboard.comparison(text)
    assert "These methods score better than WeaveClustering" in text


def test_the_leaderboard_has_seventeen_data_sets_and_all_methods():
    rows = read_rows(leaderboard.RESULTS)
    found = standings(rows[~rows["dataset"].isin(leaderboard.HELD_OUT)])
    assert len(found.datasets) >= 17
    wanted = {
        "WeaveClustering",
        "GMC",
        "SNF",
        "NEMO",
        "SimpleMKKM",
        "LateFusion",
        "LMVSC",
        "FastMICE",
        "KMeans",
        "Ward",
    }
    assert wanted <= {row.method for row in found.rows}
    assert set(rows["dataset"]) <= set(list_datasets())
    assert rows["commit"].str.len().min() == 12
    assert not rows["commit"].str.contains("changes").any()
