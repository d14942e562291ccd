"""Holds double_server.py against the official clients of OpenAI and Anthropic: what they parse is what it meant."""
import sys

import anthropic
import openai

import double_server

port = double_server.start()
ask = {"model": "m", "messages": [{"role": "user", "content": "two words"}]}


def openai_at(case):
    return openai.OpenAI(base_url=f"http://127.0.0.1:{port}/{case}/v1", api_key="k", max_retries=0).chat.completions


def anthropic_at(case):
    return anthropic.Anthropic(base_url=f"http://127.0.0.1:{port}/{case}", api_key="k", max_retries=0).messages


def expect(what, is_, wanted):
    if is_ != wanted:
        sys.exit(f"{what}: {is_!r}, wanted {wanted!r}")


def expect_error(what, call, kind):
    try:
        call()
    except kind:
        return
    sys.exit(f"{what}: no {kind.__name__}")


# OpenAI, whole and streamed.
whole = openai_at("good").create(**ask)
expect("text", whole.choices[0].message.content, "You said: two words")
expect("reason", whole.choices[0].finish_reason, "stop")
expect("cached", whole.usage.prompt_tokens_details.cached_tokens, 5)
chunks = list(openai_at("good").create(stream=True, stream_options={"include_usage": True}, **ask))
expect("streamed", "".join(c.choices[0].delta.content or "" for c in chunks if c.choices), "You said: two words")
expect("usage at the end", chunks[-1].usage.completion_tokens, whole.usage.completion_tokens)
expect("refusal", openai_at("refusal").create(**ask).choices[0].message.refusal, "I can't help with that.")
refused = [c.choices[0].delta.refusal or "" for c in openai_at("refusal").create(stream=True, **ask) if c.choices]
expect("refusal, streamed", "".join(refused), "I can't help with that.")
expect("cut", openai_at("cut").create(**ask).choices[0].finish_reason, "length")
expect_error("429", lambda: openai_at("status-429-1-0-a").create(**ask), openai.RateLimitError)
expect_error("401", lambda: openai_at("key").create(**ask), openai.AuthenticationError)
expect_error("error in a stream", lambda: list(openai_at("broken").create(stream=True, **ask)), openai.APIError)
schema = {"type": "object", "properties": {"text": {"type": "string"}}}
tools = [{"type": "function", "function": {"name": name, "parameters": schema}} for name in ("list_files", "find_text")]
called = openai_at("looks").create(tools=tools, **ask).choices[0]
expect("reason of a call", called.finish_reason, "tool_calls")
expect("calls", [(c.id, c.function.name, c.function.arguments) for c in called.message.tool_calls],
       [("call_a", "list_files", "{}"), ("call_b", "find_text", '{"text": "soft\\u006dax"}')])
pieces = [c.choices[0].delta.tool_calls[0] for c in openai_at("looks").create(stream=True, tools=tools, **ask)
          if c.choices and c.choices[0].delta.tool_calls]
expect("calls, streamed", "".join(p.function.arguments for p in pieces if p.index == 1), '{"text": "soft\\u006dax"}')
results = ask["messages"] + [called.message.model_dump(exclude_none=True)]
results += [{"role": "tool", "tool_call_id": c.id, "content": "here"} for c in called.message.tool_calls]
expect("results", openai_at("looks").create(tools=tools, model="m", messages=results).choices[0].message.content,
       "found call_a: here and call_b: here")
expect_error("no tools", lambda: openai_at("toolless").create(tools=tools, **ask), openai.BadRequestError)

# Anthropic, whole and streamed.
ask["max_tokens"] = 100
whole = anthropic_at("good").create(**ask)
expect("text", whole.content[0].text, "You said: two words")
expect("reason", whole.stop_reason, "end_turn")
expect("cached", whole.usage.cache_read_input_tokens, 5)
with anthropic_at("good").stream(**ask) as stream:
    expect("streamed", "".join(stream.text_stream), "You said: two words")
    expect("usage at the end", stream.get_final_message().usage.output_tokens, whole.usage.output_tokens)
expect("refusal", anthropic_at("refusal").create(**ask).stop_reason, "refusal")
expect("cut", anthropic_at("cut").create(**ask).stop_reason, "max_tokens")
expect_error("529", lambda: anthropic_at("status-529-1-b").create(**ask), anthropic.APIStatusError)
expect_error("401", lambda: anthropic_at("key").create(**ask), anthropic.AuthenticationError)
expect_error("error in a stream", lambda: list(anthropic_at("broken").create(stream=True, **ask)), anthropic.APIStatusError)
tools = [{"name": name, "input_schema": schema} for name in ("list_files", "find_text")]
called = anthropic_at("looks").create(tools=tools, **ask)
expect("reason of a call", called.stop_reason, "tool_use")
expect("calls", [(b.id, b.name, b.input) for b in called.content[1:]],
       [("call_a", "list_files", {}), ("call_b", "find_text", {"text": "softmax"})])
with anthropic_at("looks").stream(tools=tools, **ask) as stream:
    expect("calls, streamed", [(b.id, b.name, b.input) for b in stream.get_final_message().content[1:]],
           [("call_a", "list_files", {}), ("call_b", "find_text", {"text": "softmax"})])
results = [{"type": "tool_result", "tool_use_id": b.id, "content": "here"} for b in called.content[1:]]
messages = ask["messages"] + [{"role": "assistant", "content": [b.model_dump(exclude_none=True) for b in called.content]},
                              {"role": "user", "content": results}]
expect("results", anthropic_at("looks").create(tools=tools, model="m", max_tokens=100, messages=messages).content[0].text,
       "found call_a: here and call_b: here")
print("the double speaks as the clients expect")
