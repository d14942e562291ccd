"""Compressed models load in transformers and write what they write here.

    python bench/lm_transformers.py KW_LM      (needs torch, transformers)

KW_LM is the program kw-lm. The tiny models of tests/lm/tiny are compressed with and without pivots, loaded with
trust_remote_code, and asked for greedy continuations by both.
"""
import json
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

import torch
from transformers import AutoModelForCausalLM

TINY = pathlib.Path(__file__).parents[1] / "tests/lm/tiny"
PROMPTS = ["ABCDEF", "QRSTA"]
TOKENIZER = {"pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False},
             "model": {"type": "BPE", "vocab": {chr(64 + id): id for id in range(32)}, "merges": []}}


def greedy(model, prompt, count):
    ids = torch.tensor([[ord(letter) - 64 for letter in prompt]])
    for _ in range(count):
        ids = torch.cat([ids, model(ids).logits[:, -1].argmax(-1, keepdim=True)], 1)
    return "".join(chr(64 + int(id)) for id in ids[0, len(prompt):])


def main():
    random.seed(1)
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "text").write_text("".join(chr(64 + random.randrange(29)) for _ in range(2000)))
        for family in ["llama", "qwen2", "qwen3"]:
            shutil.copytree(TINY / family, folder / family)
            (folder / family / "tokenizer.json").write_text(json.dumps(TOKENIZER))
            for pivot in [False, True]:
                out = f"{folder}/{family}_{pivot}"
                requests = [{"do": "compress", "model": f"{folder}/{family}", "text": f"{folder}/text", "out": out, "ratio": 0.3,
                             "method": "svd-llm", "length": 32, "sequences": 16, "pivot": pivot},
                            {"do": "generate", "model": out, "prompts": PROMPTS, "most_tokens": 12}]
                printed = subprocess.run([sys.argv[1]], input="\n".join(map(json.dumps, requests)) + "\n", capture_output=True, text=True)
                made, ours = [json.loads(line)["done"] for line in printed.stdout.splitlines() if '"done":{' in line]
                model = AutoModelForCausalLM.from_pretrained(out, trust_remote_code=True).eval()
                numbers = sum(tensor.numel() for name, tensor in model.named_parameters() if "_proj" in name and "bias" not in name)
                theirs = [greedy(model, prompt, 12) for prompt in PROMPTS]
                same = ours["texts"] == theirs and numbers == made["linear_parameters"]
                failed |= not same
                print(family, "with pivots" if pivot else "", f"{numbers} numbers:", "same" if same else f"DIFFERENT: {ours['texts']} {theirs}")
    sys.exit(failed)


main()
