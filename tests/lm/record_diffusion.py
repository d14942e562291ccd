"""Block diffusion in plain numpy, without a cache: what the tiny SDAR model writes, and what it thinks of masks.

    python record_diffusion.py FOLDER      (tests/lm/tiny/sdar; needs numpy; writes FOLDER/diffusion.json)

Every pass is over the whole text. The pass is held against answer.json, which transformers recorded
(make_tiny_models.py), before anything is written.
"""
import json
import pathlib
import struct
import sys

import numpy as np

FOLDER = pathlib.Path(sys.argv[1])
CONFIG = json.loads((FOLDER / "config.json").read_text())
HEADS, KEY_HEADS, SIZE = CONFIG["num_attention_heads"], CONFIG["num_key_value_heads"], CONFIG["head_dim"]
MASK, THETA = CONFIG["mask_token_id"], CONFIG.get("rope_parameters", CONFIG).get("rope_theta", 10000.0)


def weights(path):
    data = path.read_bytes()
    length = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + length])
    header.pop("__metadata__", None)
    return {name: np.frombuffer(data[8 + length:][slice(*one["data_offsets"])], np.float32).reshape(one["shape"]).astype(np.float64)
            for name, one in header.items()}


W = weights(FOLDER / "model.safetensors")


def norm(x, weight):
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + CONFIG["rms_norm_eps"]) * weight


def rotate(x):  # [tokens, heads, size]
    half = SIZE // 2
    angles = np.arange(len(x))[:, None] * THETA ** (-np.arange(half) / half)[None]
    cos, sin = np.cos(angles)[:, None], np.sin(angles)[:, None]
    return np.concatenate([x[..., :half] * cos - x[..., half:] * sin, x[..., half:] * cos + x[..., :half] * sin], -1)


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def logits_of(ids, block):
    x = W["model.embed_tokens.weight"][ids]
    place = np.arange(len(ids)) // block
    hidden_from = place[None, :] > place[:, None]
    for layer in range(CONFIG["num_hidden_layers"]):
        def w(name):
            return W[f"model.layers.{layer}.{name}.weight"]
        h = norm(x, w("input_layernorm"))
        q = rotate(norm((h @ w("self_attn.q_proj").T).reshape(-1, HEADS, SIZE), w("self_attn.q_norm")))
        k = rotate(norm((h @ w("self_attn.k_proj").T).reshape(-1, KEY_HEADS, SIZE), w("self_attn.k_norm")))
        v = (h @ w("self_attn.v_proj").T).reshape(-1, KEY_HEADS, SIZE)
        mixed = []
        for head in range(HEADS):
            shared = head // (HEADS // KEY_HEADS)
            scores = q[:, head] @ k[:, shared].T / np.sqrt(SIZE)
            mixed.append(softmax(np.where(hidden_from, -np.inf, scores)) @ v[:, shared])
        x = x + np.concatenate(mixed, -1) @ w("self_attn.o_proj").T
        h = norm(x, w("post_attention_layernorm"))
        gate = h @ w("mlp.gate_proj").T
        x = x + (gate / (1 + np.exp(-gate)) * (h @ w("mlp.up_proj").T)) @ w("mlp.down_proj").T
    return norm(x, W["model.norm.weight"]) @ W.get("lm_head.weight", W["model.embed_tokens.weight"]).T


def fill(before, length, after, block, steps, way, threshold, ends):
    """Greedy. A hole of this length; where `ends` is not empty an open one of at most this many tokens."""
    ids = list(before) + [MASK] * length + list(after)
    if ends:
        ids += [MASK] * (-len(ids) % block)
    passes = [-1] * len(ids)
    for begin in range(len(before) // block * block, len(before) + length, block):
        places = [i for i in range(begin, min(begin + block, len(ids))) if ids[i] == MASK and i >= len(before)]
        masked, step = [i for i in places if i < len(ids) - len(after)], 0
        while masked:
            shares = logits_of(ids[:min(begin + block, len(ids))], block)
            shares[:, MASK] = -np.inf
            if not ends:
                shares[:, CONFIG.get("eos_token_id") or []] = -np.inf
            shares = softmax(shares)
            count = min(len(masked), max(1, block // steps + (step < block % steps)))
            if way == "sequential":
                chosen = masked[:count]
            else:
                sure = [i for i in masked if shares[i].max() > threshold] if way == "dynamic" else []
                chosen = sure if len(sure) >= count else sorted(masked, key=lambda i: -shares[i].max())[:count]
            for i in chosen:
                ids[i], passes[i] = int(shares[i].argmax()), step
            masked, step = [i for i in masked if i not in chosen], step + 1
        written = [ids[i] for i in range(len(before), min(begin + block, len(before) + length))]
        if any(id in ends for id in written):
            return written[:next(i for i, id in enumerate(written) if id in ends)], [p for p in passes if p >= 0]
    return ids[len(before):len(before) + length], [p for p in passes if p >= 0]


def main():
    recorded = json.loads((FOLDER / "answer.json").read_text())
    for ids, answer in zip(recorded["ids"], recorded["answer"]):
        assert np.abs(logits_of(ids, CONFIG["block_size"]) - np.array(answer)).max() < 1e-4
    random = np.random.default_rng(7)
    cases = []
    for number in range(18):
        way = ("static", "dynamic", "sequential")[number % 3]
        block, steps = ((4, 4), (4, 2), (8, 3), (4, 1), (2, 2), (3, 2))[number // 3]
        before = random.integers(0, 31, random.integers(1, 14)).tolist()
        hole = number % 2 == 1
        after = random.integers(0, 31, random.integers(0, 9)).tolist() if hole else []
        length = int(random.integers(3, 12)) if hole else 24
        ends = [] if hole else [int(random.integers(0, 31))]
        threshold = 0.25
        ids, passes = fill(before, length, after, block, steps, way, threshold, ends)
        first = len(before) // block * block
        masked = before + [MASK] * (first + block - len(before))
        cases.append({"before": before, "length": length, "after": after, "block": block, "steps": steps, "unmask": way,
                      "threshold": threshold, "ends": ends, "ids": ids, "passes": passes,
                      "logits": [[round(x, 5) for x in row] for row in logits_of(masked, block)[len(before):].tolist()]})
    assert any(len(one["ids"]) < 24 for one in cases if one["ends"]) and any(len(one["ids"]) == 24 for one in cases if one["ends"])
    lines = ",\n".join(json.dumps(one) for one in cases)
    (FOLDER / "diffusion.json").write_text(f"[{lines}]\n")
    print(*(one["unmask"] + str(one["ids"]) for one in cases), sep="\n")


main()
