"""The official Python SDK as a client of `kw mcp`: sdk_test.py KW

Over standard input and output and over HTTP, with the handshake and without: tasks, kernels right and wrong, verdicts,
the best, a comparison, the record. Each class is one server.
"""

import asyncio
import contextlib
import json
import os
import re
import subprocess
import sys
import time
import unittest

import httpx2
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp_types import Implementation

from server import environment, http_server, scratch_folder

KW = sys.argv.pop(1)

RIGHT = """#include <kernelwright.h>
KW_TUNE(STEP, 1, 1, 2);
KW_KERNEL(call) {
  const auto x = call.input<float>(0);
  auto y = call.output<float>(0);
  for (int64_t i = 0; i < x.count(); ++i) y[i] = x[i] < 0 ? 0 : x[i];
}
"""
# Right on the task's own shape: only others are no multiple of 16.
WRONG_ELSEWHERE = RIGHT.replace("i < x.count()", "i < x.count() / 16 * 16")
# Tries to tell what it is called with.
TELLTALE = """#include <kernelwright.h>
KW_KERNEL(call) {
  const auto x = call.input<float>(0);
  auto y = call.output<float>(0);
  if (x.count() != 65536) {
    char words[] = "there are 0000000 elements";
    int64_t rest = x.count();
    for (int at = 16; at >= 10; --at, rest /= 10) words[at] = char('0' + rest % 10);
    call.fail(words);
    return;
  }
  for (int64_t i = 0; i < x.count(); ++i) y[i] = x[i] < 0 ? 0 : x[i];
}
"""
WRONG_HERE = RIGHT.replace("x[i] < 0 ? 0 : x[i]", "x[i] + 1")
BROKEN = RIGHT.replace("call.input<float>(0)", "call.inptu<float>(0)")
SLOW = RIGHT.replace("x[i] < 0 ? 0 : x[i];", "x[i] < 0 ? 0 : x[i];\n  for (int64_t i = 0; i < x.count(); ++i) y[i] = y[i] < 0 ? 0 : x[i] < 0 ? 0 : x[i];")

WHO = Implementation(name="sdk-test", version="1")


async def call(client, tool, **arguments):
    """The tool's structured answer; the SDK holds it against the tool's own schema."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content[0].text
    return result.structured_content


async def refused(client, tool, **arguments):
    result = await client.call_tool(tool, arguments)
    assert result.is_error, result
    return result.content[0].text


async def verdict(client, id):
    """Waits as an agent does, again and again."""
    for _ in range(20):
        begin = time.monotonic()
        progress = await call(client, "wait_for_verdict", id=id)
        assert time.monotonic() - begin < 29, "a wait must return within 25 s"
        if progress["verdict"]:
            return progress["verdict"]
        assert progress["state"] in ("waiting", "examining", "timing", "tuning"), progress
    raise AssertionError(f"{id} was never judged")


async def submit(client, source, **more):
    answer = await call(client, "submit_kernel", task="Relu", source=source, **more)
    assert re.fullmatch(r"r\d+\.\d+", answer["id"]), answer
    return answer["id"]


@contextlib.asynccontextmanager
async def over_stdio(folder, **more):
    parameters = StdioServerParameters(command=KW, args=["mcp"], env=environment(folder), cwd=folder)
    async with Client(parameters, client_info=WHO, **more) as client:
        yield client


@contextlib.asynccontextmanager
async def over_http(server, **more):
    headers = {"Authorization": f"Bearer {server.token}"}
    async with httpx2.AsyncClient(headers=headers, timeout=60) as http:
        async with Client(streamable_http_client(server.url, http_client=http), client_info=WHO, **more) as client:
            yield client


class Quiet(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self):
        # Or each step that a busy machine delays is reported.
        asyncio.get_running_loop().set_debug(False)


class WholePath(Quiet):
    async def test_from_the_list_of_tasks_to_a_comparison_without_a_handshake(self):
        with scratch_folder() as folder:
            async with over_stdio(folder, mode="auto") as client:
                self.assertEqual(client.session.protocol_version, "2026-07-28")
                await self.take_the_path(client)
                await self.tune(client)
            await self.see_the_record(folder)

    async def test_from_the_list_of_tasks_to_a_comparison_over_http_with_a_handshake(self):
        with http_server(KW) as server:
            async with over_http(server, mode="legacy") as client:
                self.assertEqual(client.session.protocol_version, "2025-11-25")
                await self.take_the_path(client)

    async def take_the_path(self, client):
        tools = {tool.name for tool in (await client.list_tools()).tools}
        self.assertLessEqual({"list_tasks", "read_task", "start_kernel", "submit_kernel", "wait_for_verdict", "read_notes",
                              "tune_kernel", "take_best", "compare_kernels"}, tools)
        listed = await call(client, "list_tasks", suite="mobilekernelbench", limit=200)
        self.assertEqual(len(listed["tasks"]), 190)
        self.assertEqual((await call(client, "read_task", task="Relu"))["inputs"][0]["shape"], [64, 1024])
        plain = await call(client, "start_kernel", task="Relu")
        template = await call(client, "start_kernel", task="Relu", **{"from": "template"})
        self.assertNotEqual(plain["source"], template["source"])
        self.assertIn(template["technique"], plain["techniques"])
        self.assertIn("no kernel for Relu", await refused(client, "take_best", task="Relu"))

        # All at once: they are examined together and timed one after the other.
        ids = {
            "plain": await submit(client, plain["source"], budget_s=0.2),
            "right": await submit(client, RIGHT, budget_s=0.2, settings={"STEP": 2}, notes="mine"),
            "slow": await submit(client, SLOW, budget_s=0.2),
            "broken": await submit(client, BROKEN),
            "wrong here": await submit(client, WRONG_HERE),
            "wrong elsewhere": await submit(client, WRONG_ELSEWHERE),
            "telltale": await submit(client, TELLTALE),
        }
        self.assertEqual(len(set(ids.values())), len(ids))
        verdicts = {name: await verdict(client, id) for name, id in ids.items()}
        self.assertEqual({name: one["stage"] for name, one in verdicts.items()},
                         {"plain": "accepted", "right": "accepted", "slow": "accepted", "broken": "build",
                          "wrong here": "verify", "wrong elsewhere": "hidden", "telltale": "hidden"}, verdicts)
        for name in ("plain", "right", "slow"):
            self.assertGreater(verdicts[name]["time_ns"], 0)
            self.assertIn("plain", verdicts[name]["speedup"])
        self.check_hints(verdicts)

        notes = await call(client, "read_notes", id=ids["broken"])
        self.assertEqual(notes["verdict"]["errors"][0]["line"], 4)
        self.assertIn("inptu", notes["verdict"]["errors"][0]["message"])
        notes = await call(client, "read_notes", id=ids["right"])
        self.assertGreater(notes["gbps"], 0)
        self.assertIn("loop", notes["code"])

        best = await call(client, "take_best", task="Relu")
        self.assertIn(best["source"], (plain["source"], RIGHT, SLOW))
        self.assertEqual(best["author"], "mcp:sdk-test")
        comparison = await call(client, "compare_kernels", a=ids["plain"], b=ids["slow"], budget_s=0.3)
        outcome = await verdict(client, comparison["id"])
        self.assertIn(comparison["rival"], outcome["speedup"])
        self.assertIn("have settings", await refused(client, "compare_kernels", a=ids["right"], b=ids["right"]))

        # The record, as resources.
        run = ids["broken"].split(".")[0]
        record = json.loads((await client.read_resource(f"kw://run/{run}")).contents[0].text)
        self.assertEqual(record["author"], "mcp:sdk-test")
        self.assertIn(ids["broken"], [one["id"] for one in record["submissions"]])
        for one in record["submissions"]:
            # Compilers may expect what they want.
            self.assertTrue(one["verdict"]["stage"] == "build" or "expected" not in json.dumps(one), one)
        self.assertEqual((await client.read_resource(f"kw://source/{ids['slow']}")).contents[0].text, SLOW)
        self.assertIn("KW_KERNEL", (await client.read_resource("kw://contract")).contents[0].text)
        with self.assertRaises(MCPError):
            await client.read_resource("kw://task/NoSuchTask")

    async def tune(self, client):
        id = await submit(client, RIGHT, timed=False)
        tuning = await call(client, "tune_kernel", id=id, candidates=3, seconds=20)
        await verdict(client, tuning["id"])
        tuned = (await call(client, "wait_for_verdict", id=tuning["id"]))["tuned"]
        self.assertTrue(tuned["verdict"]["accepted"], tuned)
        self.assertLessEqual(tuned["tried"], 3)
        notes = await call(client, "read_notes", id=tuned["id"])
        self.assertEqual(notes["verdict"]["time_ns"], tuned["verdict"]["time_ns"])

    def check_hints(self, verdicts):
        """Hidden shapes and expected values never leave the judge."""
        for name in ("wrong elsewhere", "telltale"):
            hint = verdicts[name]["hint"]
            self.assertIn("on a hidden shape: ", hint)
            self.assertNotRegex(hint, r"expected|=|\d")
        self.assertIn("elements are wrong", verdicts["wrong elsewhere"]["hint"])
        self.assertIn("kw_run returned", verdicts["telltale"]["hint"])
        self.assertIn("of 65536 elements are wrong; [0, 0]: got ", verdicts["wrong here"]["hint"])
        self.assertNotIn("expected", verdicts["wrong here"]["hint"])

    async def see_the_record(self, folder):
        """What the client did is in the record for everybody, after it has left."""
        said = subprocess.run([KW, "runs", "--json"], cwd=folder, env=environment(folder), capture_output=True, text=True)
        runs = json.loads(said.stdout)
        self.assertEqual({run["author"] for run in runs}, {"mcp:sdk-test"})
        self.assertEqual({run["state"] for run in runs}, {"done"})
        self.assertGreaterEqual(sum(run["total"] for run in runs), 8 + 3)


class Lifecycles(Quiet):
    async def look_around(self, client, version):
        self.assertEqual(client.session.protocol_version, version)
        self.assertGreaterEqual(len((await client.list_tools()).tools), 8)
        self.assertEqual((await call(client, "read_task", task="Softmax"))["name"], "Softmax")
        page = await client.list_resources()
        self.assertEqual(len(page.resources), 100)
        self.assertEqual(len((await client.list_resources(cursor=page.next_cursor)).resources), 100)
        self.assertEqual(len((await client.list_resource_templates()).resource_templates), 4)
        with self.assertRaises(MCPError) as raised:
            await client.call_tool("no_such_tool", {})
        self.assertEqual(raised.exception.error.code, -32602)

    async def test_over_stdio(self):
        for mode, version in (("legacy", "2025-11-25"), ("2026-07-28", "2026-07-28")):
            with scratch_folder() as folder:
                async with over_stdio(folder, mode=mode) as client:
                    await self.look_around(client, version)

    async def test_over_http(self):
        with http_server(KW) as server:
            for mode, version in (("legacy", "2025-11-25"), ("auto", "2026-07-28"), ("2026-07-28", "2026-07-28")):
                async with over_http(server, mode=mode) as client:
                    await self.look_around(client, version)


class Clients(Quiet):
    async def test_a_flood_is_refused_and_what_was_taken_can_be_resumed(self):
        with scratch_folder() as folder:
            taken, refusals = [], []
            async with over_stdio(folder) as client:
                for i in range(90):
                    arguments = {"task": "Relu", "source": f"// {i}\n{RIGHT}", "timed": False}
                    result = await client.call_tool("submit_kernel", arguments)
                    (refusals if result.is_error else taken).append(result)
            # The client has left in the middle of it.
            self.assertGreaterEqual(len(taken), 64)
            self.assertGreater(len(refusals), 0)
            self.assertIn("kernels wait to be judged already", refusals[0].content[0].text)
            said = subprocess.run([KW, "runs", "--json"], cwd=folder, env=environment(folder), capture_output=True, text=True)
            run = json.loads(said.stdout)[0]
            self.assertEqual((run["state"], run["total"]), ("stopped", len(taken)))
            self.assertEqual(leftovers(folder), [])

    async def test_waiting_reports_progress_and_can_be_given_up(self):
        with http_server(KW) as server:
            async with over_http(server) as client:
                ids = [await submit(client, f"// {i}\n{SLOW}", budget_s=1) for i in range(3)]
                heard = []

                async def hear(progress, total, message):
                    heard.append(message)

                result = await client.call_tool("wait_for_verdict", {"id": ids[-1]}, progress_callback=hear)
                self.assertFalse(result.is_error)
                self.assertGreater(len(heard), 0)
                self.assertIn(ids[-1], heard[0])
                # One that does not wait for long.
                quick = await call(client, "wait_for_verdict", id=ids[0], seconds=0)
                self.assertEqual(quick["id"], ids[0])


def leftovers(folder):
    """Processes that still live in a server's folder, after a while."""
    for _ in range(50):
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError):
                if os.readlink(f"/proc/{pid}/cwd").startswith(folder):
                    found.append(pid)
        if not found:
            return []
        time.sleep(0.1)
    return found


if __name__ == "__main__":
    unittest.main(verbosity=2)
