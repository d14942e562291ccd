"""Our engine beside llama.cpp on the same GGUF file: greedy text, perplexity, tokens a second on one thread.

    python bench/lm_llama.py KW_LM GGUF [TOKENS]      (needs xllamacpp, gguf)

KW_LM is the program kw-lm. llama.cpp is the wheel xllamacpp, asked over HTTP on 127.0.0.1. Both get the model dequantised to
F16: with quantised weights llama.cpp rounds activations to eight bits, which changes greedy texts. Its perplexity is
taken from the log-probabilities that it gives to each token of the first TOKENS (200) of ARCHITECTURE.md after those before it.

Speeds: both write the same prompt's next 64 tokens in turn, eight times, first from F16 and then from GGUF as it is. Each
tells how long its tokens after the first took; the ratio is the median over the pairs, so that a busy machine is busy for both.
"""
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

import gguf
import numpy
from xllamacpp import CommonParams, Server

PROMPTS = ["The capital of France is", "def fibonacci(n):\n", "Water boils at a temperature of", "1, 2, 3, 4,"]
NEW_TOKENS = 32
RACE_PROMPT, RACE_TOKENS, TURNS = "Once upon a time, in a village by the sea, there lived", 64, 8
PORT = 18761


def dequantised(model, path):
    reader = gguf.GGUFReader(model)
    writer = gguf.GGUFWriter(path, reader.fields["general.architecture"].contents())
    for name, field in reader.fields.items():
        if name.startswith("GGUF.") or name == "general.architecture":
            continue
        kind = field.types[0]
        writer.add_key_value(name, field.contents(), kind, sub_type=field.types[-1] if kind == gguf.GGUFValueType.ARRAY else None)
    for tensor in reader.tensors:
        values = gguf.quants.dequantize(tensor.data, tensor.tensor_type)
        writer.add_tensor(tensor.name, values.astype(numpy.float32 if values.ndim == 1 else numpy.float16))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def ask(path, body):
    request = urllib.request.Request(f"http://127.0.0.1:{PORT}{path}", json.dumps(body).encode(), {"Content-Type": "application/json"})
    return json.load(urllib.request.urlopen(request, timeout=300))


class Engine:
    """kw-lm on one thread, asked again and again."""

    def __init__(self, program):
        environment = os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)

    def ask(self, **request):
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        for line in self.process.stdout:
            answer = json.loads(line)
            if "error" in answer:
                raise SystemExit(answer["error"])
            if "done" in answer:
                return answer["done"]
        raise SystemExit("kw-lm ended")


def served(model):
    params = CommonParams()
    params.model.path = model
    params.hostnames = ["127.0.0.1"]
    params.port = PORT
    params.cpuparams.n_threads = 1
    params.n_parallel = 1
    return Server(params)


def race(engine, model, label):
    """Tokens a second of both, in turn; the median ratio of ours to theirs."""
    mine, theirs = [], []
    for turn in range(TURNS + 1):
        done = engine.ask(do="generate", model=model, prompts=[RACE_PROMPT], most_tokens=RACE_TOKENS)
        answer = ask("/completion", {"prompt": RACE_PROMPT, "n_predict": RACE_TOKENS, "temperature": 0, "cache_prompt": False, "ignore_eos": True})
        if turn == 0:
            continue  # both load and warm up
        mine.append((done["tokens"] - 1) / (done["seconds"] - done["first_s"]))
        theirs.append(answer["timings"]["predicted_per_second"])
    ratio = statistics.median(a / b for a, b in zip(mine, theirs))
    size = os.path.getsize(model)
    print(f"{label}: ours {statistics.median(mine):.1f} tokens a second ({size * statistics.median(mine) / 1e9:.1f} GB/s of weights), "
          f"llama.cpp {statistics.median(theirs):.1f}: {ratio:.2f} times its speed, over {TURNS} pairs", flush=True)
    return ratio


def loss_of(tokens):
    total = 0
    for place in range(1, len(tokens)):
        for count in (1000, 60000):
            answer = ask("/completion", {"prompt": tokens[:place], "n_predict": 1, "n_probs": count, "temperature": 0, "cache_prompt": True})
            likely = answer["completion_probabilities"][0]["top_logprobs"]
            found = [one["logprob"] for one in likely if one["id"] == tokens[place]]
            if found:
                break
        total -= found[0]
    return total / (len(tokens) - 1)


def main():
    program, quantised = sys.argv[1:3]
    if "KW_LLAMA_LOG" not in os.environ:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # llama.cpp logs every request
    model = os.path.join(tempfile.mkdtemp(), "model.gguf")
    dequantised(quantised, model)
    count = int(sys.argv[3]) if len(sys.argv) > 3 else 200
    engine, server = Engine(program), served(model)
    ratio = race(engine, model, "F16")
    equal = 0
    for prompt in PROMPTS:
        answer = engine.ask(do="generate", model=model, prompts=[prompt], most_tokens=NEW_TOKENS)
        theirs = ask("/completion", {"prompt": prompt, "n_predict": NEW_TOKENS, "temperature": 0, "cache_prompt": False})
        same = theirs["content"].startswith(answer["texts"][0]) or answer["texts"][0].startswith(theirs["content"])
        equal += same
        print(f"{prompt!r}: {'same text' if same else 'DIFFERENT'}")
        if not same:
            print("  ours  ", repr(answer["texts"][0]), "\n  theirs", repr(theirs["content"]))
    text = pathlib.Path(__file__).parents[1] / "ARCHITECTURE.md"
    mine = engine.ask(do="perplexity", model=model, text=str(text), window=count, most_tokens=count)["perplexity"]
    tokens = ask("/tokenize", {"content": text.read_text()[:count * 16], "add_special": False})["tokens"][:count]
    theirs = math.exp(loss_of(tokens))
    print(f"perplexity of {count} tokens: ours {mine:.4f}, llama.cpp {theirs:.4f}: {abs(mine / theirs - 1):.2%} apart")
    del server
    server = served(os.path.abspath(quantised))
    race(engine, os.path.abspath(quantised), "as it is")
    sys.stdout.flush()
    os._exit(0 if equal == len(PROMPTS) and abs(mine / theirs - 1) < 0.01 and ratio >= 0.5 else 1)


main()
