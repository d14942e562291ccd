"""Our engine beside llama.cpp on the same GGUF file: greedy text, perplexity, tokens a second on one thread.

    python bench/lm_llama.py KW_LM GGUF [TOKENS]      (needs xllamacpp, gguf)

KW_LM is the program kw-lm. llama.cpp is the wheel xllamacpp, asked over HTTP on 127.0.0.1. Both get the model dequantised to
F16: with quantised weights llama.cpp rounds activations to eight bits, which changes greedy texts. Its perplexity is
taken from the log-probabilities that it gives to each token of the first TOKENS (200) of ARCHITECTURE.md after those before it.
"""
import json
import math
import os
import pathlib
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


def ours(program, requests):
    lines = "".join(json.dumps(request) + "\n" for request in requests)
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    printed = subprocess.run([program], input=lines, capture_output=True, text=True, check=True, env=environment).stdout
    answers = [json.loads(line) for line in printed.splitlines()]
    return [answer["done"] for answer in answers if "done" in answer]


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
    model = os.path.join(tempfile.mkdtemp(), "model.gguf")
    dequantised(quantised, model)
    count = int(sys.argv[3]) if len(sys.argv) > 3 else 200
    params = CommonParams()
    params.model.path = model
    params.hostnames = ["127.0.0.1"]
    params.port = PORT
    params.cpuparams.n_threads = 1
    params.n_parallel = 1
    server = Server(params)
    text = pathlib.Path(__file__).parents[1] / "ARCHITECTURE.md"
    answers = ours(program, [{"do": "generate", "model": model, "prompts": [prompt], "most_tokens": NEW_TOKENS} for prompt in PROMPTS] +
                   [{"do": "perplexity", "model": model, "text": str(text), "window": count, "most_tokens": count}])
    equal = 0
    for prompt, answer in zip(PROMPTS, answers):
        begin = time.time()
        theirs = ask("/completion", {"prompt": prompt, "n_predict": NEW_TOKENS, "temperature": 0, "cache_prompt": False})
        same = theirs["content"].startswith(answer["texts"][0]) or answer["texts"][0].startswith(theirs["content"])
        equal += same
        speed = answer["tokens"] / max(answer["seconds"] - answer["first_s"], 1e-9)
        print(f"{prompt!r}: {'same text' if same else 'DIFFERENT'}; ours {speed:.1f}, llama.cpp {theirs['timings']['predicted_per_second']:.1f} "
              f"tokens a second ({time.time() - begin:.1f} s)")
        if not same:
            print("  ours  ", repr(answer["texts"][0]), "\n  theirs", repr(theirs["content"]))
    tokens = ask("/tokenize", {"content": text.read_text()[:count * 16], "add_special": False})["tokens"][:count]
    theirs, mine = math.exp(loss_of(tokens)), answers[-1]["perplexity"]
    print(f"perplexity of {count} tokens: ours {mine:.4f}, llama.cpp {theirs:.4f}: {abs(mine / theirs - 1):.2%} apart")
    del server
    sys.stdout.flush()
    os._exit(0 if equal == len(PROMPTS) and abs(mine / theirs - 1) < 0.01 else 1)


main()
