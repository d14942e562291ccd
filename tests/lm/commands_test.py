"""`kw lm`, `kw compress` and `lm:` as a user types them, on a tiny model, with good input and bad.

    python tests/lm/commands_test.py KW          (needs onnxruntime, numpy; KW is the program kw, with kw-lm beside it)
"""
import json
import os
import pathlib
import resource
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

import numpy
import onnxruntime

KW = os.path.abspath(sys.argv.pop(1))
TINY = pathlib.Path(__file__).parent / "tiny"
TEXT = "".join(chr(ord("@") + (i * i + i // 7) % 29) for i in range(1200))
TEMPLATE = "{% for message in messages %}{{ message['content'] }}{% endfor %}"


def kw(*words, files_at_most=None):
    """Exit code, what was printed, and what was complained about."""
    limit = (lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (files_at_most, files_at_most))) if files_at_most else None
    done = subprocess.run([KW, *map(str, words)], capture_output=True, text=True, timeout=120, preexec_fn=limit)
    return done.returncode, done.stdout, done.stderr


def tensors_of(path):
    """Name to array, of a safetensors file of F32 and I32."""
    data = path.read_bytes()
    length = struct.unpack("<Q", data[:8])[0]
    types = {"F32": numpy.float32, "I32": numpy.int32}
    header = json.loads(data[8:8 + length])
    header.pop("__metadata__", None)
    return {name: numpy.frombuffer(data[8 + length + one["data_offsets"][0]:8 + length + one["data_offsets"][1]], types[one["dtype"]]).reshape(one["shape"])
            for name, one in header.items()}


class Commands(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        self.model = self.folder / "model"
        shutil.copytree(TINY / "qwen2", self.model)
        tokenizer = {"pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False},
                     "model": {"type": "BPE", "vocab": {chr(ord("@") + i): i for i in range(32)}, "merges": []}}
        (self.model / "tokenizer.json").write_text(json.dumps(tokenizer))
        (self.model / "tokenizer_config.json").write_text(json.dumps({"chat_template": TEMPLATE}))
        self.text = self.folder / "text.txt"
        self.text.write_text(TEXT)
        self.out = self.folder / "out"

    def compress(self, *words, model=None, text=None, out=None, **limits):
        return kw("compress", model or self.model, "--ratio", "0.3", "--calibrate", text or self.text, "--out", out or self.out, "--sequences", "8",
                  "--length", "32", *words, **limits)

    def refused(self, said, code, complaint):
        """One short complaint, and nothing under the final name."""
        self.assertNotEqual(code, 0)
        self.assertIn(said, complaint)
        self.assertEqual(complaint.count("\n"), 1, complaint)
        self.assertLess(len(complaint), 400)
        self.assertFalse(self.out.exists())
        self.assertFalse(pathlib.Path(str(self.out) + ".part").exists())

    def test_tells_predicts_and_writes(self):
        code, printed, complaint = kw("lm", "info", self.model)
        self.assertEqual((code, complaint), (0, ""))
        self.assertIn("family             qwen2", printed)
        code, printed, _ = kw("lm", "perplexity", self.model, "--text", self.text, "--window", "32", "--json")
        self.assertEqual(code, 0)
        self.assertGreater(json.loads(printed)["perplexity"], 1)
        first = kw("lm", "generate", self.model, "--prompt", "ABC", "--tokens", "8")
        self.assertEqual(first[0], 0, first[2])
        self.assertEqual(first, kw("lm", "generate", self.model, "--prompt", "ABC", "--tokens", "8", "--threads", "1"))
        several = kw("lm", "generate", self.model, "--prompt", "ABC", "--prompt", "D", "--tokens", "8")
        self.assertIn("[1] " + first[1], several[1])
        asked = kw("ask", "--model", f"lm:{self.model}", "ABC")
        self.assertEqual(asked[0], 0, asked[2])

    def test_layers_as_onnx_compute_what_the_folder_holds(self):
        for number, switches in enumerate(([], ["--pivot"])):
            out = self.folder / f"out{number}"
            code, _, complaint = self.compress("--method", "svd-llm", "--onnx", "--type", "F32", *switches, out=out)
            self.assertEqual(code, 0, complaint)
            tensors = tensors_of(out / "model.safetensors")
            ranks = json.loads((out / "config.json").read_text())["low_rank"]
            self.assertEqual(sorted(ranks), sorted(path.stem for path in (out / "onnx").iterdir()))
            for name in ranks:
                down, up = tensors[name + ".down.weight"], tensors[name + ".up.weight"]
                weight = up @ down
                if name + ".rows" in tensors:
                    weight = numpy.concatenate([down, weight])[tensors[name + ".rows"]]
                x = numpy.random.default_rng(7).standard_normal((3, weight.shape[1])).astype(numpy.float32)
                y = onnxruntime.InferenceSession(str(out / "onnx" / f"{name}.onnx")).run(None, {"x": x})[0]
                numpy.testing.assert_allclose(y, x @ weight.T + tensors.get(name + ".bias", 0), rtol=1e-4, atol=1e-5)

    def test_says_what_it_did_and_draws_it(self):
        code, printed, complaint = self.compress("--method", "svd-llm", "--evaluate", self.text)
        self.assertEqual(code, 0, complaint)
        self.assertIn("perplexity of text:", printed)
        self.assertIn("error ", complaint)
        about = json.loads((self.out / "compression.json").read_text())
        self.assertEqual((about["method"], about["ratio"], len(about["errors"])), ("svd-llm", 0.3, 2))
        code, printed, complaint = kw("compress", "--page", self.folder / "page.html", "--run", self.out)
        self.assertEqual(code, 0, complaint)
        self.assertIn('"method":"svd-llm"', (self.folder / "page.html").read_text())
        (self.folder / "bad.json").write_text('{"method": 3}')
        code, _, complaint = kw("compress", "--page", self.folder / "other.html", "--run", self.folder / "bad.json")
        self.assertEqual((code != 0, complaint), (True, f"kw: {self.folder}/bad.json: model is missing\n"))
        self.assertFalse((self.folder / "other.html").exists())

    def test_refuses_what_it_cannot_read(self):
        weights = self.model / "model.safetensors"
        whole = weights.read_bytes()
        weights.write_bytes(whole[:len(whole) // 2])
        self.refused("model.safetensors", *self.compress()[::2])
        length = struct.unpack("<Q", whole[:8])[0]
        header = json.loads(whole[8:8 + length])
        name = next(key for key in header if key.endswith("q_proj.weight"))
        header[name]["data_offsets"][1] += 4
        lying = json.dumps(header).encode()
        weights.write_bytes(struct.pack("<Q", len(lying)) + lying + whole[8 + length:])
        self.refused(name, *self.compress()[::2])
        weights.write_bytes(b"")
        self.refused("model.safetensors", *self.compress()[::2])
        gguf = self.folder / "model.gguf"
        gguf.write_bytes(b"GGUF" + struct.pack("<IQQ", 3, 1, 0) + struct.pack("<Q", 1) + b"t" + struct.pack("<IQIQ", 1, 32, 99, 0) + bytes(64))
        self.refused("type", *self.compress(model=gguf)[::2])

    def test_refuses_what_makes_no_sense(self):
        empty = self.folder / "empty.txt"
        empty.write_text("")
        self.refused("too few", *self.compress(text=empty)[::2])
        for ratio in ("0", "1"):
            self.refused("more than 0 and less than 1", *kw("compress", self.model, "--ratio", ratio, "--calibrate", self.text, "--out", self.out)[::2])
        self.refused("no method is called", *self.compress("--method", "qr")[::2])
        self.refused("no such file", *self.compress(text=self.folder / "none")[::2])

    def test_leaves_nothing_half_written_where_the_disk_is_full(self):
        """A limit on files stands for the full disk: writing fails in the same place."""
        for most in (1000, 3000, 15000):
            code, _, complaint = self.compress("--method", "svd", files_at_most=most)
            self.assertNotEqual(code, 0)
            self.assertIn("cannot be written", complaint)
            self.assertFalse(self.out.exists())
            self.assertFalse(pathlib.Path(str(self.out) + ".part").exists())
        self.assertEqual(self.compress("--method", "svd")[0], 0)


unittest.main()
