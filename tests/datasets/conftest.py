"""Made-up data sets, so that loading is tested without the real files."""

import hashlib
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pooch
import pytest
import scipy.io

from kernelweave.datasets import registry
from kernelweave.datasets.registry import DatasetInfo


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """Empty cache folder of the test's own; no data folder is set, no proxy stands before localhost."""
    monkeypatch.delenv("KERNELWEAVE_DATA", raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setattr(pooch, "os_cache", lambda project: tmp_path / "cache" / project)
    return tmp_path / "cache" / "kernelweave"


@pytest.fixture
def folder(tmp_path):
    """Folder in which the made-up files stand."""
    (tmp_path / "files").mkdir()
    return tmp_path / "files"


@pytest.fixture
def register(folder, monkeypatch):
    """Write a file and make it the only registered data set, with sizes and checksum that fit."""

    def _register(content, **fields):
        sizes = {"n_samples": 6, "n_features": 3, "n_classes": 2}
        words = {"source": "a test", "citation": "nobody", "preprocessing": "none", "description": "made up"}
        file = {"name": "toy", "filename": "toy.mat", "url": "http://127.0.0.1:9/toy.mat"}
        checksum = {"sha256": hashlib.sha256(content).hexdigest()}
        info = DatasetInfo(**(file | checksum | sizes | words | fields))
        (folder / info.filename).write_bytes(content)
        monkeypatch.setattr(registry, "DATASETS", (info,))
        return info

    return _register


@pytest.fixture
def mat_bytes(tmp_path):
    """Bytes of a MATLAB file that holds the given variables."""

    def _mat_bytes(**variables):
        scipy.io.savemat(tmp_path / "made.mat", variables, do_compression=True)
        return (tmp_path / "made.mat").read_bytes()

    return _mat_bytes


@pytest.fixture
def toy(mat_bytes):
    """Bytes of the made-up data set: 6 samples, 3 columns, 2 classes numbered from 1."""
    X = np.arange(18.0).reshape(6, 3)
    return mat_bytes(X=X, y=np.array([[1, 1, 1, 2, 2, 2]], dtype=np.uint8))


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *args):
        pass


@pytest.fixture
def serve(folder):
    """Serve the made-up files on localhost; the handler says how, the answer is the address."""
    servers = []

    def _serve(handler=_Quiet):
        server = ThreadingHTTPServer(("127.0.0.1", 0), partial(handler, directory=str(folder)))
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        servers.append((server, thread))
        return f"http://127.0.0.1:{server.server_port}"

    _serve.Quiet = _Quiet
    yield _serve
    for server, thread in servers:
        server.shutdown()
        thread.join()
        server.server_close()
