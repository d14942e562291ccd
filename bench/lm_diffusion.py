"""How fast a block-diffusion model of a given shape writes, and how fast it is trained, on this machine.

    python bench/lm_diffusion.py KW-LM [--threads 1] [--tokens 256] [--type BF16]

The weights are random, so that a pass is as long as a trained model's but says nothing: static unmasking alone has a
known number of passes. Shapes: the default of `kw train`, and one of about 30 million parameters, in BF16 as `kw train`
writes them or in F32.
"""
import argparse
import array
import json
import os
import pathlib
import random
import struct
import subprocess
import tempfile
import time

SHAPES = {
    "15 M": dict(hidden_size=384, intermediate_size=1024, num_hidden_layers=8, num_attention_heads=6, num_key_value_heads=2, head_dim=64),
    "30 M": dict(hidden_size=512, intermediate_size=1408, num_hidden_layers=10, num_attention_heads=8, num_key_value_heads=2, head_dim=64),
}
VOCABULARY = 4096


def tensors_of(config):
    width, inner, size = config["hidden_size"], config["intermediate_size"], config["head_dim"]
    queries, keys = config["num_attention_heads"] * size, config["num_key_value_heads"] * size
    yield "model.embed_tokens.weight", (VOCABULARY, width)
    yield "model.norm.weight", (width,)
    for layer in range(config["num_hidden_layers"]):
        for name, shape in {"input_layernorm": (width,), "post_attention_layernorm": (width,), "self_attn.q_norm": (size,), "self_attn.k_norm": (size,),
                            "self_attn.q_proj": (queries, width), "self_attn.k_proj": (keys, width), "self_attn.v_proj": (keys, width),
                            "self_attn.o_proj": (width, queries), "mlp.gate_proj": (inner, width), "mlp.up_proj": (inner, width),
                            "mlp.down_proj": (width, inner)}.items():
            yield f"model.layers.{layer}.{name}.weight", shape


def write_model(folder, shape, type):
    config = shape | {"model_type": "sdar", "vocab_size": VOCABULARY, "max_position_embeddings": 4096, "tie_word_embeddings": True, "block_size": 4,
                      "mask_token_id": VOCABULARY - 1, "rms_norm_eps": 1e-6}
    (folder / "config.json").write_text(json.dumps(config))
    vocabulary = {chr(0x100 + i): i for i in range(256)}
    (folder / "tokenizer.json").write_text(json.dumps({"pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False},
                                                       "model": {"type": "BPE", "vocab": {"a": 0} | vocabulary, "merges": []}}))
    drawn = random.Random(1)
    size_of = {"F32": 4, "BF16": 2}[type]
    bytes_of = lambda values: array.array("f", values).tobytes() if type == "F32" else b"".join(struct.pack("<f", value)[2:] for value in values)
    # Drawn once and repeated: a prime number of values, so that no two rows of a matrix are alike.
    pool, one, header, parts, at, parameters = bytes_of(drawn.gauss(0, 0.02) for _ in range(65537)), bytes_of([1.0]), {}, [], 0, 0
    for name, shape_of in tensors_of(config):
        count = shape_of[0] * (shape_of[1] if len(shape_of) > 1 else 1)
        values = pool * (count * size_of // len(pool) + 1) if len(shape_of) > 1 else one * count
        parts.append(values[:count * size_of])
        header[name] = {"dtype": type, "shape": list(shape_of), "data_offsets": [at, at + count * size_of]}
        at += count * size_of
        parameters += count
    text = json.dumps(header).encode()
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + b"".join(parts))
    return parameters


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("engine")
    arguments.add_argument("--threads", default=1, type=int)
    arguments.add_argument("--tokens", default=256, type=int)
    arguments.add_argument("--type", default="BF16", choices=["BF16", "F32"])
    arguments.add_argument("--no-training", action="store_true")
    given = arguments.parse_args()
    count = str(given.threads)
    with subprocess.Popen([given.engine], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                          env=os.environ | {"OMP_NUM_THREADS": count, "OPENBLAS_NUM_THREADS": count}) as engine:
        def ask(request):
            engine.stdin.write(json.dumps(request) + "\n")
            engine.stdin.flush()
            for line in engine.stdout:
                answer = json.loads(line)
                if "error" in answer:
                    raise SystemExit(answer["error"])
                if "done" in answer:
                    return answer["done"]

        print(f"{count} threads, prompts of 64 tokens, {given.tokens} tokens of each text, weights in {given.type}")
        for name, shape in SHAPES.items():
            with tempfile.TemporaryDirectory() as folder:
                folder = pathlib.Path(folder)
                parameters = write_model(folder, shape, given.type)
                for texts in (1, 16):
                    for steps in (4, 2, 1):
                        request = {"do": "generate", "model": str(folder), "prompts": ["a" * 64] * texts, "most_tokens": given.tokens, "unmask": "static",
                                   "steps": steps, "numbers": "F32"}
                        ask(request | {"most_tokens": 8})
                        best = min((ask(request) for _ in range(2)), key=lambda done: done["seconds"])
                        print(f"{name} ({parameters / 1e6:.1f} M parameters), {texts} texts, {steps} passes a block: "
                              f"{best['tokens'] / best['seconds']:.0f} tokens a second, {1e3 * best['seconds'] / best['passes']:.2f} ms a pass of "
                              f"{best['bytes_a_pass'] / 1e6:.1f} MB, {best['decoded_passes']} of {best['passes']} passes from the file", flush=True)
        if given.no_training:
            return
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            lines = [{"prompt": f"write {i}", "answer": "".join(f"y[{i}] = {k} * x[{i + k}];\n" for k in range(12))} for i in range(200)]
            (folder / "corpus.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
            for twin in (False, True):
                begin = time.monotonic()
                done = ask({"do": "train", "corpus": [str(folder / "corpus.jsonl")], "out": str(folder / f"out{twin}"), "steps": 6, "batch": 2, "length": 512,
                            "autoregressive": twin})
                print(f"training of {done['parameters'] / 1e6:.1f} M parameters, {'autoregressive' if twin else 'diffusion'}: "
                      f"{done['seen_tokens'] / done['seconds']:.0f} tokens a second, {time.monotonic() - begin:.1f} s in all", flush=True)


main()
