"""An honest client beside many hostile ones, and what they cost: slow_clients.py KW [CONNECTIONS]

Opens connections to `kw mcp --http` on 127.0.0.1, at most 1,000 unless told otherwise, that send their headers a byte at a time, or
63 KiB of them and then nothing, or a body without an end. Beside each kind an honest client asks 20 times. Prints the slowest answer
and the server's memory; fails above one second or 200 MB.
"""

import http.client
import json
import os
import resource
import socket
import sys
import time

from server import http_server

KW = os.path.abspath(sys.argv[1])
COUNT = int(sys.argv[2]) if len(sys.argv) > 2 else 1000
ASKED = 20
MOST_SECONDS = 1.0
MOST_MB = 200

INITIALIZE = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"})


def allow_many_files():
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = COUNT + 200
    if most != resource.RLIM_INFINITY and most < wanted:
        sys.exit(f"this system allows {most} open files, and {wanted} are needed")
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))


def memory_mb(process):
    with open(f"/proc/{process.pid}/status", encoding="ascii") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) / 1000


def ask(server):
    begin = time.monotonic()
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    connection.request("POST", "/mcp", INITIALIZE, {"Authorization": f"Bearer {server.token}", "Content-Type": "application/json"})
    answer = connection.getresponse()
    answer.read()
    connection.close()
    assert answer.status in (200, 202, 400), answer.status
    return time.monotonic() - begin


def opened(server, start):
    sockets = []
    for _ in range(COUNT):
        one = socket.create_connection(("127.0.0.1", server.port), timeout=5)
        try:
            one.sendall(start)
        except OSError:
            pass  # it has been sent away
        sockets.append(one)
    return sockets


def drip(sockets):
    for one in sockets:
        try:
            one.sendall(b"x")
        except OSError:
            pass  # it has been sent away


def beside(kind, server, start):
    sockets = opened(server, start)
    slowest = 0.0
    for _ in range(ASKED):
        drip(sockets)
        slowest = max(slowest, ask(server))
    for one in sockets:
        one.close()
    used = memory_mb(server.process)
    print(f"{kind:<34} {COUNT:>5} connections: slowest of {ASKED} answers {slowest * 1000:6.1f} ms, server's peak memory {used:5.1f} MB")
    return slowest <= MOST_SECONDS and used <= MOST_MB


def main():
    allow_many_files()
    with http_server(KW) as server:
        print(f"{'nobody else':<34} {'':>5}              slowest of {ASKED} answers {max(ask(server) for _ in range(ASKED)) * 1000:6.1f} ms, "
              f"server's peak memory {memory_mb(server.process):5.1f} MB")
        token = f"Authorization: Bearer {server.token}\r\n".encode()
        head = b"POST /mcp HTTP/1.1\r\nHost: localhost\r\n"
        well = [
            beside("headers a byte at a time", server, head + b"X: "),
            beside("63 KiB of headers, then slowly", server, head + b"X: " + b"x" * (63 << 10)),
            beside("says nothing", server, b""),
            beside("a body without an end, no token", server, head + b"Content-Length: 8000000\r\n\r\n"),
            beside("chunks without an end, with token", server,
                   head + token + b"Transfer-Encoding: chunked\r\n\r\n" + b"1\r\nx\r\n" * 100 + b"10\r\n"),
        ]
    sys.exit(0 if all(well) else 1)


main()
