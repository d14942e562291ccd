"""What `kw mcp --http` refuses, and how, by plain HTTP: http_test.py KW"""

import http.client
import json
import socket
import subprocess
import sys
import threading
import time
import unittest

from server import environment, http_server, scratch_folder

KW = sys.argv.pop(1)

INITIALIZE = {"jsonrpc": "2.0", "id": 1, "method": "initialize",
              "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}}}
META = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}


def request(method, id=1, **params):
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": params}


class Refusals(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.block = http_server(KW)
        cls.server = cls.block.__enter__()

    @classmethod
    def tearDownClass(cls):
        cls.block.__exit__(None, None, None)

    def send(self, body, method="POST", path="/mcp", **more):
        """(status, headers, JSON or None); a header that is None is left out."""
        headers = {"Authorization": f"Bearer {self.server.token}", "Content-Type": "application/json",
                   "Accept": "application/json, text/event-stream"}
        headers.update({name.replace("_", "-"): value for name, value in more.items()})
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=30)
        text = body if isinstance(body, (str, bytes)) else json.dumps(body)
        connection.request(method, path, text, {name: value for name, value in headers.items() if value is not None})
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        is_json = answer.headers.get("Content-Type", "").startswith("application/json")
        return answer.status, answer.headers, json.loads(content) if is_json else None

    def test_a_token_is_needed(self):
        for authorization in (None, "", "Bearer", "Bearer wrong", f"bearer {self.server.token}", self.server.token,
                              f"Bearer {self.server.token}x", f"Bearer {self.server.token[:-1]}"):
            status, headers, answer = self.send(INITIALIZE, Authorization=authorization)
            self.assertEqual(status, 401, authorization)
            self.assertEqual(headers["WWW-Authenticate"], "Bearer")
            self.assertNotIn(self.server.token, json.dumps(answer))

    def test_pages_of_other_places_may_not_call(self):
        for origin in ("http://evil.example", "https://127.0.0.1.evil.example", "null", "http://localhost.evil", "file://"):
            self.assertEqual(self.send(INITIALIZE, Origin=origin)[0], 403, origin)
        for host in ("evil.example", "127.0.0.1.evil.example:80"):
            self.assertEqual(self.send(INITIALIZE, Host=host)[0], 403, host)
        for origin in ("http://localhost:3000", f"http://127.0.0.1:{self.server.port}", "http://[::1]:5"):
            self.assertEqual(self.send(INITIALIZE, Origin=origin)[0], 200, origin)

    def test_only_this_machine_can_reach_it(self):
        with open("/proc/net/tcp") as connections:
            listening = [line.split()[1] for line in connections if line.split()[3] == "0A"]
        self.assertIn("0100007F:%04X" % self.server.port, listening)
        self.assertNotIn("00000000:%04X" % self.server.port, listening)

    def test_sessions_live_from_initialize_to_delete(self):
        status, headers, answer = self.send(INITIALIZE)
        self.assertEqual((status, answer["result"]["protocolVersion"]), (200, "2025-06-18"))
        session = headers["Mcp-Session-Id"]
        in_session = {"Mcp_Session_Id": session, "MCP_Protocol_Version": "2025-06-18"}
        notice = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        self.assertEqual(self.send(notice, **in_session)[0], 202)
        self.assertEqual(self.send(request("tools/list"), **in_session)[0], 200)
        self.assertEqual(self.send(request("no/such"), **in_session)[2]["error"]["code"], -32601)
        self.assertEqual(self.send(request("tools/list"), Mcp_Session_Id="made-up")[0], 404)
        self.assertEqual(self.send(request("tools/list"))[0], 400)
        self.assertEqual(self.send(request("tools/list"), Mcp_Session_Id=session, MCP_Protocol_Version="2024-11-05")[0], 400)
        self.assertEqual(self.send("", method="GET", **in_session)[0], 405)
        self.assertEqual(self.send("", method="DELETE", **in_session)[0], 204)
        self.assertEqual(self.send(request("tools/list"), **in_session)[0], 404)
        self.assertEqual(self.send("", method="DELETE", **in_session)[0], 404)

    def test_sessions_are_bounded(self):
        opened = []
        for _ in range(200):
            status, headers, _ = self.send(INITIALIZE)
            if status != 200:
                break
            opened.append(headers["Mcp-Session-Id"])
        self.assertEqual(status, 503)
        for session in opened:
            self.send("", method="DELETE", Mcp_Session_Id=session)
        self.assertEqual(self.send(INITIALIZE)[0], 200)

    def test_stateless_requests_must_say_the_same_in_headers_and_body(self):
        message = request("tools/call", name="list_tasks", arguments={"limit": 1}, _meta=META)
        good = {"MCP_Protocol_Version": "2026-07-28", "Mcp_Method": "tools/call", "Mcp_Name": "list_tasks"}
        self.assertEqual(self.send(message, **good)[0], 200)
        encoded = {**good, "Mcp_Name": "=?base64?bGlzdF90YXNrcw==?="}
        self.assertEqual(self.send(message, **encoded)[0], 200)
        for wrong in ({"Mcp_Method": "tools/list"}, {"Mcp_Name": "read_task"}, {"Mcp_Name": None},
                      {"Mcp_Method": None}, {"MCP_Protocol_Version": None}):
            status, _, answer = self.send(message, **{**good, **wrong})
            self.assertEqual((status, answer["error"]["code"]), (400, -32020), wrong)
        status, _, answer = self.send(message, **{**good, "MCP_Protocol_Version": "2031-01-01"})
        self.assertEqual(status, 400)
        lone = request("server/discover", _meta={**META, "io.modelcontextprotocol/protocolVersion": "2031-01-01"})
        status, _, answer = self.send(lone, MCP_Protocol_Version="2031-01-01", Mcp_Method="server/discover")
        self.assertEqual((status, answer["error"]["code"]), (400, -32022))
        self.assertEqual(answer["error"]["data"]["supported"], ["2026-07-28"])
        missing = request("no/such", _meta=META)
        status, _, answer = self.send(missing, MCP_Protocol_Version="2026-07-28", Mcp_Method="no/such")
        self.assertEqual((status, answer["error"]["code"]), (404, -32601))

    def test_nonsense_is_refused(self):
        self.assertEqual(self.send("nonsense")[2]["error"]["code"], -32700)
        self.assertEqual(self.send("[]")[2]["error"]["code"], -32600)
        self.assertEqual(self.send(INITIALIZE, Content_Type="text/plain")[0], 415)
        self.assertEqual(self.send(INITIALIZE, Accept="text/html")[0], 406)
        self.assertEqual(self.send(INITIALIZE, path="/other")[0], 404)
        self.assertIn(self.send("x" * (9 << 20))[0], (400, 413))
        for raw in (b"\r\n\r\n", b"GET\r\n\r\n", b"POST /mcp HTTP/1.1\r\nContent-Length: -5\r\n\r\n", b"\x00" * 5000):
            with socket.create_connection(("127.0.0.1", self.server.port), timeout=20) as connection:
                connection.sendall(raw)
                connection.shutdown(socket.SHUT_WR)
                while connection.recv(4096):
                    pass
        self.assertEqual(self.send(INITIALIZE)[0], 200)

    def test_clients_that_vanish_or_say_nothing_hold_nobody_up(self):
        silent = [socket.create_connection(("127.0.0.1", self.server.port)) for _ in range(20)]
        for connection in silent[:10]:
            connection.sendall(b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100\r\n\r\n{")
        begin = time.monotonic()
        self.assertEqual(self.send(INITIALIZE)[0], 200)
        self.assertLess(time.monotonic() - begin, 10)
        for connection in silent:
            connection.close()
        self.assertEqual(self.send(INITIALIZE)[0], 200)

    def test_two_requests_at_once_are_both_answered(self):
        answers = []

        def ask(id):
            message = request("tools/call", id=id, name="read_task", arguments={"task": "Softmax"}, _meta=META)
            answers.append(self.send(message, MCP_Protocol_Version="2026-07-28", Mcp_Method="tools/call",
                                     Mcp_Name="read_task")[2])

        threads = [threading.Thread(target=ask, args=(id,)) for id in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(sorted(answer["id"] for answer in answers), list(range(8)))


class WrongUse(unittest.TestCase):
    def test_says_what_is_wrong(self):
        with socket.create_server(("127.0.0.1", 0)) as busy, scratch_folder() as folder:
            port = str(busy.getsockname()[1])
            for words, message in ((["--http", "70000"], "a port is a number up to 65535"),
                                   (["--http", "x"], "a port is a number"),
                                   (["8765"], "a port is for --http"),
                                   (["--http", port], "cannot be had"),
                                   (["--task", "no_such.onnx:0"], "no_such.onnx")):
                said = subprocess.run([KW, "mcp", *words], cwd=folder, env=environment(folder), capture_output=True,
                                      text=True, stdin=subprocess.DEVNULL, timeout=60)
                self.assertEqual((said.returncode, said.stdout), (2, ""), words)
                self.assertIn(message, said.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
