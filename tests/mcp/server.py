"""`kw mcp` in a folder of its own, for tests: over HTTP as a process that ends with the block."""

import os
import re
import subprocess
import tempfile
from contextlib import contextmanager


def environment(folder):
    # No framework runs beside: they may or may not be installed here.
    return {**os.environ, "KW_STORE": os.path.join(folder, ".kw"), "KW_RIVAL": "none", "KW_INSTALL": "no",
            "XDG_CACHE_HOME": os.path.join(folder, "cache")}


@contextmanager
def scratch_folder():
    with tempfile.TemporaryDirectory(prefix="kw_mcp_") as folder:
        yield folder


class HttpServer:
    def __init__(self, kw, folder):
        variables = environment(folder)
        variables.pop("KW_MCP_TOKEN", None)
        self.process = subprocess.Popen([kw, "mcp", "--http", "0"], cwd=folder, env=variables, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        said = self.process.stderr.readline() + self.process.stderr.readline()
        self.url = re.search(r"http://127\.0\.0\.1:\d+/mcp", said)[0]
        self.port = int(self.url.split(":")[2].split("/")[0])
        self.token = re.search(r"the token is (\w+)", said)[1]

    def end(self):
        self.process.terminate()
        self.process.wait(20)
        # Standard output carries nothing but the protocol, and this one speaks HTTP.
        assert self.process.stdout.read() == ""
        self.process.stdout.close()
        self.process.stderr.close()


@contextmanager
def http_server(kw):
    with scratch_folder() as folder:
        server = HttpServer(kw, folder)
        try:
            yield server
        finally:
            server.end()
