"""Saving: whole files only, whoever else writes, and no trace of what failed."""

import os
import stat
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import kernelweave
from kernelweave import KGLClustering
from kernelweave.errors import InvalidInputError, ResultsError

MODEL = KGLClustering(4, gamma=2.0)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_threads_that_save_to_one_path_leave_a_whole_file(tmp_path):
    path = tmp_path / "model.kw"
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda k: KGLClustering(k).save(path), range(1, 81)))
    assert kernelweave.load(path).n_clusters in range(1, 81)
    assert names(tmp_path) == ["model.kw"]


def test_what_a_killed_save_left_behind_does_not_matter(tmp_path):
    (tmp_path / f".model.kw.{os.getpid()}.tmp").write_text("left over")
    MODEL.save(tmp_path / "model.kw")
    assert kernelweave.load(tmp_path / "model.kw").gamma == 2.0


def test_a_name_may_be_as_long_as_the_file_system_allows(tmp_path):
    path = tmp_path / ("m" * 255)
    MODEL.save(path)
    MODEL.save(path)
    assert names(tmp_path) == [path.name]


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o444, 0o777])
def test_a_file_that_is_replaced_keeps_its_mode(tmp_path, mode):
    path = tmp_path / "model.kw"
    path.write_text("old")
    path.chmod(mode)
    MODEL.save(path)
    assert stat.S_IMODE(path.stat().st_mode) == mode


@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_a_new_file_has_the_mode_of_the_umask(tmp_path, umask, mode):
    before = os.umask(umask)
    try:
        MODEL.save(tmp_path / "model.kw")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "model.kw").stat().st_mode) == mode


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_after_any_error_the_old_file_stands_alone(tmp_path, error, monkeypatch):
    path = tmp_path / "model.kw"
    path.write_text("old")

    def fail(*_):
        msg = "stop"
        raise error(msg)

    monkeypatch.setattr("kernelweave.files.archive._header_text", fail)
    with pytest.raises(error, match="stop"):
        MODEL.save(path)
    assert path.read_text() == "old"
    assert names(tmp_path) == ["model.kw"]


def test_a_failure_to_put_the_file_in_place_leaves_nothing(tmp_path, monkeypatch):
    def fails(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.replace", fails)
    with pytest.raises(OSError, match="No space left"):
        MODEL.save(tmp_path / "model.kw")
    assert names(tmp_path) == []


def test_only_regular_files_are_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path):
        with pytest.raises(InvalidInputError, match="is not a regular file, so nothing can be written"):
            MODEL.save(path)


def test_names_of_very_many_samples_stand_in_arrays_and_come_back(tmp_path):
    model = KGLClustering(2, random_state=0).fit(np.random.default_rng(0).normal(size=(20, 2)))
    model.sample_names_ = np.array([f"sample, {i} é" for i in range(300_000)] + ["\ud800"], dtype=object)
    model.save(tmp_path / "model.kw")
    found = kernelweave.load(tmp_path / "model.kw").sample_names_
    assert found.dtype == object
    assert (found == model.sample_names_).all()


def test_a_folder_that_is_not_there_is_named(tmp_path):
    with pytest.raises(ResultsError, match=r"model\.kw cannot be written, since there is no folder .*nowhere: make it"):
        MODEL.save(tmp_path / "nowhere" / "model.kw")
