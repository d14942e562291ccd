"""A double of a model's endpoint: speaks OpenAI's chat completions and Anthropic's messages, and misbehaves on request.

The first part of the path chooses what happens: /good/v1/chat/completions answers, /html/... sends a page, and so on; each
function below whose name begins with `case_` is one. /status-503-2-NAME/... fails twice with 503 and answers from then on
(NAME keeps tests apart); a third number makes it say Retry-After. Prints its port and runs until its standard input closes.

`check_double.py` holds it against the official clients.
"""
import collections
import email.utils
import json
import os
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

seen = collections.Counter()
lock = threading.Lock()
in_flight = 0
most_in_flight = 0
one_at_a_time = threading.Lock()
work = collections.defaultdict(list)  # by case: when each answer was begun and when it was given


class Double(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *words):
        pass

    def do_POST(self):
        global in_flight, most_in_flight
        self.request_body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        case, _, self.rest = self.path.lstrip("/").partition("/")
        self.anthropic = self.rest.endswith("v1/messages")
        self.case, *self.numbers = case.split("-")
        with lock:
            seen[case] += 1
            self.turn = seen[case]
            in_flight += 1
            most_in_flight = max(most_in_flight, in_flight)
        try:
            getattr(self, "case_" + self.case)()
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True
        finally:
            with lock:
                in_flight -= 1

    # --- well-behaved ---------------------------------------------------------------------------------------------

    def case_good(self):
        self.answer("You said: " + self.question())

    def case_second(self):
        """Answers after a second, as a busy model does."""
        time.sleep(1)
        self.answer("done")

    def case_words(self):
        """After a second, words that are no kernel."""
        self.after_a_second("I have no kernel for you.")

    def case_kernel(self):
        """After a second, a kernel for Relu like no other."""
        self.after_a_second(self.kernel())

    def case_single(self):
        """The same, one at a time, as a small server on one device does."""
        with one_at_a_time:
            self.after_a_second(self.kernel())

    def case_work(self):
        """How many answers a case gave, within how many seconds, and how many of its seconds it was at work on them."""
        with lock:
            spans = sorted(work[self.numbers[0]])
        busy, end = 0, 0
        for begin, until in spans:
            busy += max(0, until - max(begin, end))
            end = max(end, until)
        self.answer(json.dumps({"answers": len(spans), "span_s": end - spans[0][0] if spans else 0, "busy_s": busy}))

    def after_a_second(self, text):
        begin = time.monotonic()
        time.sleep(1)
        with lock:
            work[self.case].append((begin, time.monotonic()))
        self.answer(text)

    def kernel(self):
        return ("```cpp\n// the answer %d\n#include <kernelwright.h>\nKW_KERNEL(call) {\n"
                "  const auto x = call.input<float>(0);\n  auto y = call.output<float>(0);\n"
                "  for (int64_t i = 0; i < x.count(); ++i) y[i] = x[i] < 0 ? 0 : x[i];\n}\n```\n" % self.turn)

    def case_looks(self):
        """Calls two tools at once where it is given some; tells what they found when it gets their results."""
        if not self.request_body.get("tools"):
            return self.answer("no tools for me")
        found = self.tool_results()
        if found:
            return self.answer("found " + " and ".join("%s: %s" % pair for pair in found))
        names = [tool["name"] if self.anthropic else tool["function"]["name"] for tool in self.request_body["tools"]]
        self.answer("Let me look.", calls=[("call_a", names[0], "{}"), ("call_b", names[1], '{"text": "soft\\u006dax"}')])

    def case_toolless(self):
        """An older server, which does not know tools."""
        if self.request_body.get("tools"):
            return self.error(400, "tools param requires --jinja flag")
        self.answer("no tools for me")

    def tool_results(self):
        if not self.anthropic:
            return [(m["tool_call_id"], m["content"]) for m in self.request_body["messages"] if m["role"] == "tool"]
        last = self.request_body["messages"][-1]["content"]
        return [] if isinstance(last, str) else [(b["tool_use_id"], b["content"]) for b in last if b["type"] == "tool_result"]

    def case_large(self):
        self.answer("0123456789abcdef" * 65536)

    def case_headers(self):
        self.answer(json.dumps(dict(self.headers)) + json.dumps(self.request_body))

    def case_traffic(self):
        self.answer(str(most_in_flight))

    def case_cut(self):
        self.answer("as far as", reason="length")

    def case_thinking(self):
        self.answer("", reason="length")

    def case_silentusage(self):
        self.answer("four words and more", usage=False)

    def case_halfusage(self):
        """Says what came out and not what went in."""
        self.answer("four words and more", usage="half")

    def case_newlimit(self):
        if "max_tokens" in self.request_body:
            self.error(400, "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.")
        else:
            self.answer("limit %d" % self.request_body["max_completion_tokens"])

    # --- refusing -------------------------------------------------------------------------------------------------

    def case_refusal(self):
        self.answer("I can't help with that.", refusal=True)

    def case_key(self):
        given = self.headers.get("x-api-key") or self.headers.get("Authorization", "").removeprefix("Bearer ")
        self.error(401, "Incorrect API key provided: %s. You can find your key in the settings." % given)

    def case_status(self):
        status, times = int(self.numbers[0]), int(self.numbers[1])
        if self.turn > times:
            return self.answer("after %d" % (self.turn - 1))
        wait = self.numbers[2] if len(self.numbers) > 3 else None
        if wait == "date":
            wait = email.utils.formatdate(time.time() + 2, usegmt=True)
        self.error(status, "come back later", {"Retry-After": wait} if wait else {})

    def case_redirect(self):
        self.reply(302, "text/plain", b"", {"Location": "/good/" + self.rest})

    # --- misbehaving ----------------------------------------------------------------------------------------------

    def case_html(self):
        self.reply(200, "text/html", b"<!DOCTYPE html><html><body>Welcome to nginx!</body></html>")

    def case_half(self):
        if self.request_body.get("stream"):
            self.begin_stream()
            events = self.events("half an answer, and then", "stop", True)
            for event in events[: len(events) // 2]:
                self.send_event(event)
        else:
            body = json.dumps(self.whole("half an answer", "stop", True)).encode()
            self.reply(200, "application/json", body[: len(body) // 2])
        self.close_connection = True

    def case_torn(self):
        """The connection ends before what was promised."""
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", "1000")
        self.end_headers()
        self.wfile.write(b'{"choices": [')
        self.close_connection = True

    def case_other(self):
        self.reply(200, "application/json", b'{"hello": "world"}')

    def case_endless(self):
        self.begin_stream()
        event = [e for e in self.events("word " * 40, "stop", True) if "word" in e][0]
        while True:
            self.send_event(event)
            time.sleep(0.001)

    def case_silent(self):
        time.sleep(20)

    def case_pause(self):
        self.begin_stream()
        for event in self.events("then nothing", "stop", True)[:2]:
            self.send_event(event)
        time.sleep(20)

    def case_broken(self):
        """An error in the middle of a stream."""
        self.begin_stream()
        for event in self.events("so far so good", "stop", True)[:2]:
            self.send_event(event)
        error = {"type": "overloaded_error" if self.anthropic else "server_error", "message": "out of breath"}
        body = {"type": "error", "error": error} if self.anthropic else {"error": error}
        self.send_event(("event: error\n" if self.anthropic else "") + "data: " + json.dumps(body))
        self.close_connection = True

    # --- the protocols --------------------------------------------------------------------------------------------

    def question(self):
        return self.request_body["messages"][-1]["content"]

    def answer(self, text, reason="stop", refusal=False, usage=True, calls=()):
        if self.request_body.get("stream"):
            self.begin_stream()
            for event in self.events(text, reason, usage, refusal, calls):
                self.send_event(event)
            self.close_connection = True
        else:
            body = self.whole(text, reason, usage, refusal, calls)
            self.reply(200, "application/json", json.dumps(body).encode())

    def counts(self, text):
        return len(json.dumps(self.request_body["messages"]).split()), len(text.split())

    def whole(self, text, reason, usage, refusal=False, calls=()):
        went_in, came_out = self.counts(text)
        half = usage == "half"
        if self.anthropic:
            stop = "refusal" if refusal else "tool_use" if calls else {"stop": "end_turn", "length": "max_tokens"}[reason]
            blocks = [{"type": "text", "text": text}] if text else []
            blocks += [{"type": "tool_use", "id": i, "name": name, "input": json.loads(given)} for i, name, given in calls]
            body = {"id": "msg_double", "type": "message", "role": "assistant", "model": self.request_body["model"],
                    "content": blocks, "stop_reason": stop, "stop_sequence": None}
            before = {} if half else {"input_tokens": went_in, "cache_read_input_tokens": 5}
            body["usage"] = dict(before, output_tokens=came_out) if usage else None
            return body
        message = {"role": "assistant", "content": None if refusal else text, "refusal": text if refusal else None}
        if calls:
            reason = "tool_calls"
            message["tool_calls"] = [{"id": i, "type": "function", "function": {"name": name, "arguments": given}} for i, name, given in calls]
        body = {"id": "chatcmpl-double", "object": "chat.completion", "created": 1, "model": self.request_body["model"],
                "choices": [{"index": 0, "message": message, "finish_reason": reason, "logprobs": None}]}
        if usage:
            before = {} if half else {"prompt_tokens": went_in + 5, "prompt_tokens_details": {"cached_tokens": 5}}
            body["usage"] = dict(before, completion_tokens=came_out, total_tokens=went_in + 5 + came_out)
        return body

    def events(self, text, reason, usage, refusal=False, calls=()):
        middle = len(text) // 2
        pieces = [piece for piece in (text[:middle], text[middle:]) if piece]
        whole = self.whole(text, reason, usage, refusal, calls)
        if self.anthropic:
            start = dict(whole, content=[], stop_reason=None)
            if usage:
                start["usage"] = dict(whole["usage"], output_tokens=0)
            bodies = [{"type": "message_start", "message": start}, {"type": "ping"},
                      {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}]
            bodies += [{"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": p}} for p in pieces]
            end = {"type": "message_delta", "delta": {"stop_reason": whole["stop_reason"], "stop_sequence": None}}
            if usage:
                end["usage"] = {"output_tokens": whole["usage"]["output_tokens"]}
            bodies.append({"type": "content_block_stop", "index": 0})
            for place, (i, name, given) in enumerate(calls, 1):
                bodies.append({"type": "content_block_start", "index": place,
                               "content_block": {"type": "tool_use", "id": i, "name": name, "input": {}}})
                bodies += [{"type": "content_block_delta", "index": place, "delta": {"type": "input_json_delta", "partial_json": p}}
                           for p in (given[:1], given[1:])]
                bodies.append({"type": "content_block_stop", "index": place})
            bodies += [end, {"type": "message_stop"}]
            return ["event: %s\ndata: %s" % (body["type"], json.dumps(body)) for body in bodies]
        part = "refusal" if refusal else "content"

        def chunk(**more):
            return dict({"id": "chatcmpl-double", "object": "chat.completion.chunk", "created": 1,
                         "model": whole["model"], "choices": []}, **more)

        bodies = [chunk(choices=[{"index": 0, "delta": {"role": "assistant", part: p}, "finish_reason": None}]) for p in pieces]
        for place, (i, name, given) in enumerate(calls):
            for piece in ({"id": i, "type": "function", "function": {"name": name, "arguments": given[:1]}},
                          {"function": {"arguments": given[1:]}}):
                bodies.append(chunk(choices=[{"index": 0, "delta": {"tool_calls": [dict(piece, index=place)]}, "finish_reason": None}]))
        bodies.append(chunk(choices=[{"index": 0, "delta": {}, "finish_reason": "tool_calls" if calls else reason}]))
        if usage and self.request_body.get("stream_options", {}).get("include_usage"):
            bodies.append(chunk(usage=whole["usage"]))
        return ["data: " + json.dumps(body) for body in bodies] + ["data: [DONE]"]

    def begin_stream(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()

    def send_event(self, event):
        self.wfile.write((event + "\n\n").encode())
        self.wfile.flush()

    def error(self, status, message, headers={}):
        if self.anthropic:
            body = {"type": "error", "error": {"type": "api_error", "message": message}, "request_id": "req_double"}
        else:
            body = {"error": {"message": message, "type": "invalid_request_error", "param": None, "code": None}}
        self.reply(status, "application/json", json.dumps(body).encode(), headers)

    def reply(self, status, kind, body, headers={}):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)


class Server(ThreadingHTTPServer):
    request_queue_size = 256


def start():
    server = Server(("127.0.0.1", 0), Double)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_address[1]


if __name__ == "__main__":
    print(start(), flush=True)
    sys.stdin.read()
    os._exit(0)
