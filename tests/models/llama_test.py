"""One real exchange each, plain and streamed, in OpenAI's and in Anthropic's form, with llama.cpp's own server.

llama_test.py KW   runs `KW ask` against it. The model is small: what it says is of no matter, that it was heard is.
"""
import json
import os
import subprocess
import sys
import tempfile

import llama

kw = sys.argv[1]


def ask(provider, *flags):
    environment = dict(os.environ, OPENAI_BASE_URL=llama.url + "/v1", ANTHROPIC_BASE_URL=llama.url,
                       OPENAI_API_KEY="a-key-that-nobody-checks", ANTHROPIC_API_KEY="a-key-that-nobody-checks")
    words = [kw, "ask", "--model", provider + ":smollm2", "--json", "--most-tokens", "6", "Say hello to the world.", *flags]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=60)
    if done.returncode != 0:
        sys.exit(f"{provider} {flags}: {done.stdout}{done.stderr}")
    return json.loads(done.stdout)


with llama.server(), tempfile.TemporaryDirectory() as folder:
    for provider in ("openai", "anthropic"):
        for flags in ((), ("--no-stream",)):
            answer = ask(provider, *flags)
            assert answer["text"].strip(), answer
            assert answer["trouble"] is None and answer["tries"] == 1, answer
            assert not answer["whole"], "six tokens cut this answer"
            usage = answer["usage"]
            assert usage["output_tokens"] == 6 and usage["input_tokens"] > 10 and not usage["guessed"], answer
            print(provider, *flags, repr(answer["text"]), usage)
    recorded = ask("openai", "--record", folder)
    llama.url = "http://127.0.0.1:1"  # nobody is there: the cassette must be enough
    assert ask("openai", "--replay", folder)["text"] == recorded["text"]
    assert "nobody-checks" not in "".join(open(os.path.join(folder, name)).read() for name in os.listdir(folder))
sys.stdout.flush()
os._exit(0)  # the server's library does not like to be taken down
