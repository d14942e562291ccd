"""`kw lm`, `kw compress`, `kw train` and `lm:` as a user types them, on a tiny model, with good input and bad.

    python tests/lm/commands_test.py KW          (needs onnxruntime, numpy; KW is the program kw, with kw-lm beside it)
"""
import fcntl
import json
import os
import pathlib
import pty
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
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


def write_safetensors(path, tensors):
    header, at = {}, 0
    for name, values in tensors.items():
        header[name] = {"dtype": "F32", "shape": list(values.shape), "data_offsets": [at, at + values.nbytes]}
        at += values.nbytes
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(values.tobytes() for values in tensors.values()))


def write_gguf(path, metadata, tensors):
    """Float32 tensors after metadata of whole numbers, real ones, texts and lists of texts."""
    text = lambda value: struct.pack("<Q", len(value.encode())) + value.encode()

    def value_of(value):
        if isinstance(value, list):
            return struct.pack("<IIQ", 9, 8, len(value)) + b"".join(map(text, value))
        return struct.pack("<I", 8) + text(value) if isinstance(value, str) else struct.pack("<Ii", 5, value) if isinstance(value, int) else struct.pack("<If", 6, value)

    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(metadata)) + b"".join(text(name) + value_of(value) for name, value in metadata.items())
    data = b""
    for name, values in tensors.items():
        head += text(name) + struct.pack(f"<I{values.ndim}QIQ", values.ndim, *reversed(values.shape), 0, len(data))
        data += values.tobytes() + bytes(-values.nbytes % 32)
    path.write_bytes(head + bytes(-len(head) % 32) + data)


def llama_as_gguf(path, config, tensors, tokens):
    """As llama.cpp's converter writes a Llama model: other names, and rows of queries and keys in pairs."""
    names = {"model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output", "input_layernorm": "attn_norm",
             "post_attention_layernorm": "ffn_norm", "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v",
             "self_attn.o_proj": "attn_output", "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down"}
    renamed = {}
    for name, values in tensors.items():
        heads = config["num_attention_heads"] if "q_proj" in name else config["num_key_value_heads"] if "k_proj" in name else 0
        if heads:
            values = numpy.ascontiguousarray(values.reshape(heads, 2, -1, values.shape[1]).swapaxes(1, 2).reshape(values.shape))
        for ours, theirs in names.items():
            name = name.replace(ours, theirs)
        renamed[name.replace("model.layers.", "blk.")] = values
    write_gguf(path, {"general.architecture": "llama", "llama.block_count": config["num_hidden_layers"], "llama.embedding_length": config["hidden_size"],
                      "llama.feed_forward_length": config["intermediate_size"], "llama.attention.head_count": config["num_attention_heads"],
                      "llama.attention.head_count_kv": config["num_key_value_heads"], "llama.context_length": config["max_position_embeddings"],
                      "llama.attention.key_length": config["head_dim"], "llama.attention.layer_norm_rms_epsilon": 1e-6, "llama.rope.freq_base": 10000.0,
                      "tokenizer.ggml.model": "gpt2", "tokenizer.ggml.tokens": tokens, "tokenizer.ggml.merges": [],
                      "tokenizer.ggml.eos_token_id": config["eos_token_id"]}, renamed)


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

    def test_shows_progress_on_a_terminal_in_one_line(self):
        ours, theirs = pty.openpty()
        done = subprocess.run([KW, "lm", "perplexity", self.model, "--text", self.text, "--window", "32"], stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL, stderr=theirs, timeout=120)
        os.close(theirs)
        shown = os.read(ours, 1 << 16).decode()
        os.close(ours)
        self.assertEqual(done.returncode, 0, shown)
        self.assertIn("\rkw: window", shown)
        self.assertTrue(shown.endswith("\r\x1b[K"), shown)
        self.assertNotIn("\\u00", shown)

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

    def test_says_how_alike_an_encoder_stays(self):
        encoder = self.folder / "encoder"
        shutil.copytree(TINY / "bert", encoder)
        shutil.copy(self.model / "tokenizer.json", encoder)
        code, printed, complaint = self.compress("--method", "svd-llm", "--evaluate", self.text, model=encoder)
        self.assertEqual(code, 0, complaint)
        self.assertRegex(printed, r"means of hidden states on text: cosine 0\.9\d+ to the original's \(least 0\.\d+\), [\d.]+ % of \d+ windows")

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
        self.refused("a device is cpu, cuda or cuda:N", *self.compress("--device", "gpu")[::2])
        self.refused("a device is cpu, cuda or cuda:N", *kw("lm", "perplexity", self.model, "--text", self.text, "--device", "gpu")[::2])
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

    def test_goes_on_after_ctrl_c(self):
        self.text.write_text(TEXT * 80)  # enough for some time in the second of two layers
        words = ["compress", self.model, "--ratio", "0.3", "--calibrate", self.text, "--out", self.out, "--sequences", "3000", "--length", "32", "--method", "svd-llm"]
        with subprocess.Popen([KW, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
            self.assertIn("calibration: 1 of 2", running.stderr.readline())
            running.send_signal(signal.SIGINT)
            self.assertNotEqual(running.wait(timeout=60), 0)
        self.assertFalse(self.out.exists())
        for _ in range(50):  # the engine ends a moment after kw
            code, _, complaint = kw(*words)
            if "another kw works there now" not in complaint:
                break
            time.sleep(0.1)
        self.assertEqual(code, 0, complaint)
        self.assertNotIn("calibration: 1 of 2", complaint)
        self.assertTrue((self.out / "model.safetensors").exists())
        self.assertFalse(pathlib.Path(str(self.out) + ".part").exists())

    def test_goes_on_after_a_kill_with_what_it_would_have_had(self):
        self.text.write_text(TEXT * 20)
        words = ["compress", self.model, "--ratio", "0.3", "--calibrate", self.text, "--sequences", "600", "--length", "32", "--method", "svd-llm", "--type", "F32",
                 "--threads", "1"]
        whole = self.folder / "whole"
        self.assertEqual(kw(*words, "--out", whole)[0], 0)
        for said in ("calibration: 1 of 2", "calibration: 2 of 2"):  # killed after each of them
            with subprocess.Popen([KW, *map(str, words), "--out", str(self.out)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
                for line in running.stderr:
                    if said in line:
                        break
                running.kill()
            self.assertFalse(self.out.exists())
        for _ in range(50):  # the engine ends a moment after kw
            code, _, complaint = kw(*words, "--out", self.out)
            if "another kw works there now" not in complaint:
                break
            time.sleep(0.1)
        self.assertEqual(code, 0, complaint)
        self.assertNotIn("calibration: 1 of 2", complaint)
        self.assertEqual((whole / "model.safetensors").read_bytes(), (self.out / "model.safetensors").read_bytes())

    def test_two_at_once_do_not_share_a_folder(self):
        for shared in (f"{self.out}.part", f"{self.out}.work"):
            os.makedirs(shared)
            first = os.open(shared, os.O_RDONLY)
            fcntl.flock(first, fcntl.LOCK_EX)  # as the first kw compress holds it
            code, _, complaint = self.compress("--method", "svd")
            self.assertEqual((code != 0, complaint), (True, f"kw: {shared}: another kw works there now\n"))
            self.assertFalse(self.out.exists())
            os.close(first)
            os.rmdir(shared)
        self.assertEqual(self.compress("--method", "svd")[0], 0)

    def diffusion_model(self):
        """SDAR with letters as tokens, "_" (31) for masks."""
        place = self.folder / "sdar"
        shutil.copytree(TINY / "sdar", place)
        for name in ("tokenizer.json", "tokenizer_config.json"):
            shutil.copy(self.model / name, place)
        return place

    def test_diffusion_writes_and_fills_holes(self):
        model = self.diffusion_model()
        self.assertIn("mask token         31", kw("lm", "info", model)[1])
        greedy = kw("lm", "generate", model, "--prompt", "ABCDE", "--tokens", "10")
        self.assertEqual((greedy[0], len(greedy[1])), (0, 11), greedy)
        self.assertEqual(greedy, kw("lm", "generate", model, "--prompt", "ABCDE", "--tokens", "10", "--threads", "1"))
        one = json.loads(kw("lm", "generate", model, "--prompt", "ABCDE", "--tokens", "10", "--json")[1])
        self.assertEqual(one["decoded_passes"], one["passes"], one)  # with weights as they are in the file
        self.assertGreater(one["bytes_a_pass"], 4096)
        narrow = json.loads(kw("lm", "generate", model, "--prompt", "ABCDE", "--tokens", "10", "--numbers", "BF16", "--json")[1])
        self.assertEqual(narrow["decoded_passes"], 0, narrow)
        several = kw("lm", "generate", model, "--prompt", "ABCDE", "--prompt", "F", "--tokens", "10", "--unmask", "static", "--steps", "2", "--json")
        self.assertEqual([len(text) for text in json.loads(several[1])["texts"]], [10, 10])
        drawn = json.loads(kw("lm", "generate", model, "--prompt", "ABCDE", "--tokens", "12", "--samples", "3", "--temperature", "1", "--json")[1])
        self.assertEqual(len(set(drawn["texts"])), 3)
        asked = kw("ask", "--model", f"lm:{model}", "ABC")
        self.assertEqual(asked[0], 0, asked[2])
        text = self.folder / "holey.txt"
        text.write_text("ABCDEFG<hole>HIJKLMNOPQ")
        code, printed, complaint = kw("lm", "generate", model, "--infill", text, "--hole-tokens", "5")
        self.assertEqual(code, 0, complaint)
        self.assertEqual((printed[:7], len(printed), printed[12:]), ("ABCDEFG", 22, "HIJKLMNOPQ"))
        self.refused("say how many tokens", *kw("lm", "generate", model, "--infill", text)[::2])
        text.write_text("A<hole>B<hole>C")
        self.refused("is in it twice", *kw("lm", "generate", model, "--infill", text, "--hole-tokens", "5")[::2])
        self.refused("nothing in it is marked", *kw("lm", "generate", model, "--infill", self.text)[::2])
        self.refused("no way of unmasking", *kw("lm", "generate", model, "--prompt", "A", "--unmask", "all")[::2])
        self.refused("block-diffusion models", *kw("lm", "generate", self.model, "--prompt", "A", "--steps", "2")[::2])
        self.refused("no GPU, or this LibTorch has no CUDA (libtorch_cuda.so", *kw("lm", "generate", model, "--prompt", "A", "--device", "cuda")[::2])

    def test_refuses_broken_diffusion_models(self):
        model = self.diffusion_model()
        words = ("lm", "generate", model, "--prompt", "ABC", "--tokens", "4")
        config = json.loads((model / "config.json").read_text())
        (model / "config.json").write_text(json.dumps(config | {"mask_token_id": 32}))
        self.refused("the mask token 32 (mask_token_id) is outside of the vocabulary of 32", *kw(*words)[::2])
        (model / "config.json").write_text(json.dumps(config))
        weights = (model / "model.safetensors").read_bytes()
        (model / "model.safetensors").write_bytes(weights[:-4] + struct.pack("<f", float("nan")))
        self.refused("holds values that are no numbers", *kw(*words)[::2])
        (model / "model.safetensors").write_bytes(weights)
        self.assertEqual(kw(*words)[0], 0)
        (model / "tokenizer.json").unlink()
        self.refused("tokenizer.json", *kw(*words)[::2])

    def train(self, out, corpus=None, **options):
        options = {"vocabulary": 300, "layers": 2, "width": 48, "inner_width": 96, "heads": 3, "kv_heads": 1, "head_size": 16, "context": 512,
                   "batch": 2, "length": 128, "type": "F32", "rate": 0.004, "steps": 300, "save_every": 20, "threads": 1} | options
        flags = [word for name, value in options.items() for word in ("--" + name.replace("_", "-"), value)]
        return ["train", corpus or self.corpus(), "--out", out, *flags]

    def corpus(self):
        path = self.folder / "corpus.jsonl"
        lines = [{"prompt": f"add {i}", "answer": f"y = x + {i};\n", "origin": "test"} for i in range(6)]
        lines += [{"prompt": "fill", "prefix": "int f() {\n", "answer": "  return 7;\n", "suffix": "}\n"}]
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        return path

    def test_trains_through_kills_and_fills_a_hole(self):
        whole = self.folder / "whole"
        code, printed, complaint = kw(*self.train(whole))
        self.assertEqual(code, 0, complaint)
        self.assertIn("300 steps over 7 lines", printed)
        self.assertIn("tokens a second", complaint)
        for until in (1, 3):  # killed in the middle of anything, after some checkpoints
            with subprocess.Popen([KW, *map(str, self.train(self.out))], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as running:
                state = pathlib.Path(f"{self.out}.work") / "state.json"
                for _ in range(2000):
                    if running.poll() is not None or (state.exists() and json.loads(state.read_text())["step"] >= 20 * until):
                        break
                    time.sleep(0.01)
                running.kill()
            self.assertFalse(self.out.exists())
        for _ in range(50):  # the engine ends a moment after kw
            code, _, complaint = kw(*self.train(self.out))
            if "another kw works there now" not in complaint:
                break
            time.sleep(0.1)
        self.assertEqual(code, 0, complaint)
        losses = [json.loads((folder / "training.json").read_text())["losses"] for folder in (whole, self.out)]
        self.assertEqual(losses[0], losses[1])
        self.assertEqual((whole / "model.safetensors").read_bytes(), (self.out / "model.safetensors").read_bytes())
        asked = kw("ask", "--model", f"lm:{self.out}", "add 3")
        self.assertEqual((asked[0], asked[1].strip()), (0, "y = x + 3;"), asked)
        text = self.folder / "holey.c"
        text.write_text("int f() {\nHERE}\n")
        code, printed, complaint = kw("lm", "generate", self.out, "--chat", "fill", "--infill", text, "--hole", "HERE")
        self.assertEqual((code, printed), (0, "int f() {\n  return 7;\n}\n"), complaint)
        text.write_bytes(b"// \xff\xc3\r\nHERE\xe2}\x00")  # bytes that are no text stay, too
        self.assertEqual(kw("lm", "generate", self.out, "--infill", text, "--hole", "HERE", "--tokens", "8", "--out", text)[0], 0)
        filled = text.read_bytes()
        self.assertTrue(filled.startswith(b"// \xff\xc3\r\n") and filled.endswith(b"\xe2}\x00"), filled)

    def test_adapts_a_llama_model_from_its_folder_and_from_gguf(self):
        folder, gguf = self.folder / "llama", self.folder / "llama.gguf"
        shutil.copytree(TINY / "llama", folder)
        shutil.copy(self.model / "tokenizer.json", folder)
        config = json.loads((folder / "config.json").read_text()) | {"attention_bias": False, "mlp_bias": False}
        (folder / "config.json").write_text(json.dumps(config))
        tensors = {name: values for name, values in tensors_of(folder / "model.safetensors").items() if not name.endswith(".bias")}
        write_safetensors(folder / "model.safetensors", tensors)
        llama_as_gguf(gguf, config, tensors, [chr(ord("@") + i) for i in range(32)])
        corpus = self.folder / "letters.jsonl"
        corpus.write_text("".join(json.dumps({"prompt": prompt, "answer": answer}) + "\n" for prompt, answer in {"ABC": "DEFGHIJKL", "QR": "STUVW"}.items()))
        losses = []
        for model in (folder, gguf):
            out = self.folder / f"from_{model.name}"
            code, printed, complaint = kw("train", corpus, "--from", model, "--out", out, "--length", "32", "--batch", "2", "--steps", "5", "--type", "F32",
                                          "--threads", "1")
            self.assertEqual(code, 0, complaint)
            self.assertIn("sdar model", printed)
            losses.append(json.loads((out / "training.json").read_text())["losses"])
            written = kw("lm", "generate", out, "--prompt", "ABC", "--tokens", "8", "--json")
            self.assertEqual(written[0], 0, written[2])
            self.assertGreater(json.loads(written[1])["decoded_passes"], 0)
        numpy.testing.assert_allclose(losses[0], losses[1], rtol=1e-4)

    def test_shows_a_training_as_a_page(self):
        page = self.folder / "page.html"
        code, _, complaint = kw(*self.train(self.out, steps=30, save_every=10, page=page, held_out=self.corpus()))
        self.assertEqual(code, 0, complaint)
        text = page.read_text()
        self.assertIn('"live":false', text)
        self.assertIn('"prompt":"add 0"', text)
        self.assertIn('"held_out":[[10', text)
        self.assertNotIn("http-equiv=\"refresh\"", text)
        both = self.folder / "both.html"
        self.assertEqual(kw("train", "--page", both, "--run", self.out, "--run", self.out / "training.json")[1], f"wrote {both}\n")
        self.assertEqual(both.read_text().count('"prompt":"add 0"'), 2)
        code, _, complaint = kw("train", "--run", self.out)
        self.assertEqual((code != 0, "--run goes with --page alone" in complaint), (True, True), complaint)
        # A page that cannot be written stops no training, and one is there while it goes on.
        other = self.folder / "other"
        code, _, complaint = kw(*self.train(other, steps=20, save_every=10, page=self.folder / "nowhere" / "page.html"))
        self.assertEqual((code, complaint.count("the page stays as it is")), (0, 1), complaint)
        third, live = self.folder / "third", self.folder / "live.html"
        with subprocess.Popen([KW, *map(str, self.train(third, steps=100000, save_every=5, page=live))], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as running:
            for _ in range(2000):
                if running.poll() is not None or live.exists():
                    break
                time.sleep(0.01)
            running.kill()
        self.assertIn('"live":true', live.read_text())

    def test_learns_from_the_rewards_of_a_program(self):
        first = self.folder / "first"
        self.assertEqual(kw(*self.train(first, steps=30))[0], 0)
        judge = self.folder / "judge.py"
        judge.write_text("import json, sys\nfor line in sys.stdin:\n  one = json.loads(line)\n"
                         "  print(json.dumps({'id': one['id'], 'reward': one['source'].count('y') if 'task' in one else 0}), flush=True)\n")
        problems = self.folder / "problems.jsonl"
        problems.write_text("".join(json.dumps({"prompt": f"add {i}", "task": "Add", "answer": "not needed"}) + "\n" for i in range(3)))
        page = self.folder / "rewards.html"
        words = ["train", problems, "--from", first, "--out", self.out, "--reward", f"{sys.executable} {judge}", "--steps", "3", "--batch", "2", "--samples", "4",
                 "--tokens", "12", "--rate", "0.001", "--page", page]
        code, printed, complaint = kw(*words)
        self.assertEqual(code, 0, complaint)
        text = page.read_text()
        for name in ('"accepted":[[1', '"reward":[[1', '"samples":[{"prompt":"add '):
            self.assertIn(name, text)
        self.assertIn("3 steps of learning from rewards", printed)
        curve = json.loads((self.out / "training.json").read_text())["curve"]
        self.assertEqual((len(curve), curve[0]["not_judged"]), (3, 0))
        self.assertTrue(any(step["groups_kept"] > 0 for step in curve), curve)
        self.assertEqual(kw("lm", "generate", self.out, "--chat", "add 1", "--tokens", "8")[0], 0)
        shutil.rmtree(self.out)
        shutil.rmtree(f"{self.out}.work")
        self.refused("/nowhere/judge", *kw(*["/nowhere/judge" if "judge.py" in str(word) else word for word in words])[::2])
        self.refused("leaves room for answers of 510 tokens in a context of 512", *kw(*["510" if word == "12" else word for word in words])[::2])
        weights = (first / "model.safetensors").read_bytes()
        (first / "model.safetensors").write_bytes(weights[:-4] + struct.pack("<f", float("nan")))
        self.refused("holds values that are no numbers", *kw(*words)[::2])
        self.refused("holds values that are no numbers", *kw("train", self.corpus(), "--from", first, "--out", self.out, "--length", "128")[::2])
        (first / "model.safetensors").write_bytes(weights)
        (first / "tokenizer.json").unlink()
        self.refused("tokenizer.json", *kw(*words)[::2])
        self.refused("tokenizer.json", *kw("train", self.corpus(), "--from", first, "--out", self.out, "--length", "128")[::2])

    def test_ends_when_its_minutes_are_over(self):
        code, printed, complaint = kw(*self.train(self.out, steps=1000000, minutes=0.005))
        self.assertEqual(code, 0, complaint)
        about = json.loads((self.out / "training.json").read_text())
        self.assertEqual(about["of"], 1000000)
        self.assertLess(0, about["steps"])
        self.assertLess(about["steps"], 1000000)
        self.assertEqual(len(about["losses"]), about["steps"])
        self.assertEqual(kw("lm", "generate", self.out, "--prompt", "add 1", "--tokens", "4")[0], 0)

    def test_refuses_what_it_cannot_train_on(self):
        cut = self.folder / "cut.jsonl"
        cut.write_bytes(self.corpus().read_bytes()[:-10])
        self.refused("cut.jsonl line 7: no whole JSON object", *kw(*self.train(self.out, corpus=cut))[::2])
        self.refused("no such file", *kw(*self.train(self.out, corpus=self.folder / "none"))[::2])
        self.refused("none of 7 lines fits", *kw(*self.train(self.out, length=8))[::2])
        self.refused("heads cannot share", *kw(*self.train(self.out, kv_heads=2))[::2])
        self.refused("no GPU", *kw(*self.train(self.out, device="cuda"))[::2])


unittest.main()
