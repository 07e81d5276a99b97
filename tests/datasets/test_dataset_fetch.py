import hashlib
import re
import sys

import pytest

from kernelweave.datasets import load_dataset
from kernelweave.errors import DataUnavailableError, InvalidInputError


def content(folder):
    return {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_file_is_downloaded_once_and_then_taken_from_the_cache(register, toy, serve, folder, cache):
    register(toy, url=serve() + "/toy.mat")
    assert load_dataset("toy").data.shape == (6, 3)
    (folder / "toy.mat").unlink()
    assert load_dataset("toy").data.shape == (6, 3)
    assert load_dataset("toy", download=False).data.shape == (6, 3)
    assert content(cache) == {"toy.mat": toy}


def test_a_damaged_file_in_the_cache_is_replaced(register, toy, serve, cache):
    register(toy, url=serve() + "/toy.mat")
    cache.mkdir(parents=True)
    (cache / "toy.mat").write_bytes(toy[:50])
    load_dataset("toy")
    assert content(cache) == {"toy.mat": toy}


def test_a_download_that_breaks_off_leaves_nothing_behind(register, toy, serve, cache):
    class Breaks(serve.Quiet):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Length", str(len(toy)))
            self.end_headers()
            self.wfile.write(toy[: len(toy) // 2])

    register(toy, url=serve(Breaks) + "/toy.mat")
    with pytest.raises(
        DataUnavailableError, match=r"'toy' .* save http://127.* as toy\.mat \(sha256 .*KERNELWEAVE_DATA"
    ):
        load_dataset("toy")
    assert content(cache) == {}


def test_a_source_that_serves_another_file_is_refused_and_nothing_is_kept(register, toy, serve, folder, cache):
    info = register(toy, url=serve() + "/toy.mat")
    (folder / "toy.mat").write_bytes(b"another file")
    got = hashlib.sha256(b"another file").hexdigest()
    with pytest.raises(DataUnavailableError, match=rf"no longer serves the file of 'toy'.*{info.sha256}.*{got}"):
        load_dataset("toy")
    assert content(cache) == {}


def test_a_source_without_the_file_is_reported(register, toy, serve):
    register(toy, url=serve() + "/moved.mat")
    with pytest.raises(DataUnavailableError, match=r"'toy' is not in the cache .*cache.* could not be fetched: 404"):
        load_dataset("toy")


def test_without_a_connection_the_error_says_what_to_put_where(register, toy, cache):
    info = register(toy)  # nobody listens at its address
    expected = (
        rf"'toy' is not in the cache {re.escape(str(cache))} and could not be fetched: .*refused.*\. "
        rf"To provide 'toy' by hand, save {info.url} as toy\.mat \(sha256 {info.sha256}\) in a folder, "
        r"and pass that folder as data_home or set KERNELWEAVE_DATA to it\."
    )
    with pytest.raises(DataUnavailableError, match=expected):
        load_dataset("toy")


def test_download_can_be_forbidden(register, toy, serve, cache):
    register(toy, url=serve() + "/toy.mat")
    with pytest.raises(DataUnavailableError, match=r"no file .*toy\.mat\) and download=False\. Pass download=True\."):
        load_dataset("toy", download=False)
    assert not cache.exists()


def test_a_damaged_file_in_the_cache_is_refused_where_download_is_forbidden(register, toy, cache):
    info = register(toy)
    cache.mkdir(parents=True)
    (cache / "toy.mat").write_bytes(b"damaged")
    with pytest.raises(
        InvalidInputError, match=rf"expected sha256 {info.sha256}, got .* pass download=True to replace"
    ):
        load_dataset("toy", download=False)


@pytest.mark.parametrize("download", [True, False])
def test_without_pooch_the_error_says_how_to_install_it(register, toy, monkeypatch, download):
    monkeypatch.setitem(sys.modules, "pooch", None)
    register(toy)
    with pytest.raises(
        DataUnavailableError, match=r"needs the package pooch.*pip install 'kernelweave\[data\]'.*by hand"
    ):
        load_dataset("toy", download=download)


def test_a_data_folder_needs_no_pooch(register, toy, folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "pooch", None)
    register(toy)
    assert load_dataset("toy", data_home=folder).data.shape == (6, 3)


@pytest.mark.parametrize("kind", [str, lambda path: path], ids=["text", "path"])
def test_files_in_a_data_folder_are_used_as_they_are(register, toy, folder, cache, kind):
    register(toy)
    before = content(folder)
    load_dataset("toy", data_home=kind(folder))
    assert content(folder) == before
    assert not cache.exists()


def test_the_environment_names_a_data_folder(register, toy, folder, monkeypatch):
    register(toy)
    monkeypatch.setenv("KERNELWEAVE_DATA", str(folder))
    assert load_dataset("toy").data.shape == (6, 3)


def test_the_argument_goes_before_the_environment(register, toy, folder, tmp_path, monkeypatch):
    register(toy)
    monkeypatch.setenv("KERNELWEAVE_DATA", str(tmp_path / "nowhere"))
    assert load_dataset("toy", data_home=folder).data.shape == (6, 3)


def test_an_empty_environment_variable_counts_as_unset(register, toy, serve, monkeypatch):
    register(toy, url=serve() + "/toy.mat")
    monkeypatch.setenv("KERNELWEAVE_DATA", "")
    assert load_dataset("toy").data.shape == (6, 3)


def test_a_tilde_in_the_data_folder_is_the_home(register, toy, folder, monkeypatch):
    register(toy)
    monkeypatch.setenv("HOME", str(folder.parent))
    monkeypatch.setenv("USERPROFILE", str(folder.parent))
    assert load_dataset("toy", data_home="~/files").data.shape == (6, 3)


def test_a_data_folder_that_does_not_exist_is_reported_and_not_made(register, toy, tmp_path, monkeypatch):
    info = register(toy)
    nowhere = tmp_path / "nowhere"
    monkeypatch.setenv("KERNELWEAVE_DATA", str(nowhere))
    with pytest.raises(
        DataUnavailableError,
        match=rf"{re.escape(str(nowhere))} \(from KERNELWEAVE_DATA\) does not exist.*save {info.url}",
    ):
        load_dataset("toy")
    assert not nowhere.exists()


def test_a_data_folder_without_the_file_is_reported_and_nothing_is_downloaded(register, toy, serve, tmp_path):
    info = register(toy, url=serve() + "/toy.mat")
    empty = tmp_path / "empty"
    empty.mkdir()
    expected = rf"{re.escape(str(empty))} \(from data_home\) has no file toy\.mat\. .* save {info.url} as .*\) there"
    with pytest.raises(DataUnavailableError, match=expected):
        load_dataset("toy", data_home=empty)
    assert content(empty) == {}


def test_another_file_under_the_right_name_is_refused(register, toy, folder):
    info = register(toy)
    (folder / "toy.mat").write_bytes(b"another file")
    path, got = re.escape(str(folder / "toy.mat")), hashlib.sha256(b"another file").hexdigest()
    with pytest.raises(
        InvalidInputError,
        match=rf"{path} is not the published .* expected sha256 {info.sha256}, got {got}\..*fetch it again",
    ):
        load_dataset("toy", data_home=folder)
    assert (folder / "toy.mat").read_bytes() == b"another file"
