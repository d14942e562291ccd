"""Records what Python's `tokenizers` and `jinja2` make of small texts and templates.

    python make_text_cases.py FOLDER GGUF TIKTOKEN WORDPIECE_JSON      (needs tokenizers, jinja2, gguf)

GGUF is SmolLM2's file, TIKTOKEN qwen.tiktoken, WORDPIECE_JSON MiniLM's tokenizer.json. Writes token_ids.json, wordpiece.json
(of MiniLM's vocabulary what the texts need) and chat_templates.json.
"""
import json
import pathlib
import sys

from jinja2.sandbox import ImmutableSandboxedEnvironment
from tokenizers import Tokenizer

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "bench"))
import lm_tokenizers  # noqa: E402

TEXTS = [
    "Hello, world! It's 12345 o'clock, we'LL see.",
    "for (int i = 0; i < n; ++i) {\n\t\tsum += x[i] * 3.14159;  // total\n}\n\n\n",
    "  leading, trailing   and \t mixed \r\n white space   ",
    "naïve café Ａｎｇｓｔ, ﬁle, Å and Å, e\u0301; İstanbul, ΣΊΣΥΦΟΣ",
    "中文字符和日本語のテキスト、한국어 텍스트。עברית العربية हिन्दी",
    "emoji 👩‍👩‍👧 🇩🇪 ☃ and \u00a0no-break\u2003em\u3000wide",
    "<|im_start|>user\nhi<|im_end|>\n<|endoftext|>[CLS] [SEP] <|im_end",
    "x" * 300 + " unbelievably internationalization " + "1" * 40,
    "",
    "\u0000\u0001 control \u200b zero-width \ufffd replacement",
]

TEMPLATES = [
    "{% for m in messages %}\n  {% if loop.first %}\nA{% endif %}\n{{ m.role }}: {{ m['content'] | trim }}\n{% endfor %}\nend",
    "{%- for m in messages -%}\n <{{- m.role -}}> {{ m.content }} \n{%- endfor -%}\n x",
    "{% set ns = namespace(found=false, last=0) %}{% for m in messages[::-1] %}{% set i = messages|length - 1 - loop.index0 %}"
    "{% if not ns.found and m.role == 'user' and m.content is string and not(m.content.startswith('<t>') and m.content.endswith('</t>')) %}"
    "{% set ns.found = true %}{% set ns.last = i %}{% endif %}{% endfor %}{{ ns.last }} {{ ns.found }}",
    "{{ messages[0].content.split('b')[-1].lstrip('\\n') }}|{{ messages[-1]['content'].strip() }}|{{ 'x' in messages[0].content }}",
    "{{ (messages | length) % 2 == 0 and 'even' or 'odd' }} {{ 'yes' if add_generation_prompt else 'no' }} {{ 7 // 2 + 1 - 3 * 2 }}",
    "{% if tools is defined and tools %}T{% elif messages[0]['role'] != 'system' %}S{% else %}E{% endif %}{{ unknown }}{{ bos_token ~ 5 }}",
    "{{ messages[1:] | tojson }} {{ {'a': [1, 2.5, none, true], 'b': 'ü\"'} | tojson }}",
    "{# a comment #}{% for k, v in {'a': 1, 'b': 2}.items() %}{{ k }}={{ v }}{{ ', ' if not loop.last }}{% endfor %}",
    "{% for m in messages if m.role == 'user' %}{{ loop.index }}/{{ loop.length }} {% else %}none{% endfor %}",
    "{{ ['a', 'b'] | join('-') }} {{ messages | map_missing if false else 'ok' }}",
    "{% for i in range(3) %}{% set x = i %}{{ x }}{% endfor %}{{ x is defined }} {{ 'Ab'.upper() }}{{ 'Ab' | lower }} {{ '%}' }}",
    "{{ messages[0].get('name', 'nobody') }} {{ messages[0].name is none }} {{ messages[0].content.replace('b', 'cc') }}",
]
MESSAGES = [{"role": "system", "content": "ab\nab x"}, {"role": "user", "content": " hi "},
            {"role": "assistant", "content": "<t>ok</t>"}, {"role": "user", "content": "<t>no</t>"}]


def main():
    folder, model, ranks, words = sys.argv[1:5]
    small = json.load(open(words))
    small["truncation"] = small["padding"] = None
    whole = Tokenizer.from_str(json.dumps(small))
    vocabulary = small["model"]["vocab"]
    used = {id for text in TEXTS for id in whole.encode(text).ids} | {vocabulary[token["content"]] for token in small["added_tokens"]}
    kept = [token for token, id in vocabulary.items() if id in used or (len(token.removeprefix("##")) <= 2 and token.isascii())]
    small["model"]["vocab"] = {token: i for i, token in enumerate(kept)}
    for token in small["added_tokens"]:
        token["id"] = small["model"]["vocab"][token["content"]]
    for name, entry in small["post_processor"]["special_tokens"].items():
        entry["ids"] = [small["model"]["vocab"][name]]
    json.dump(small, open(f"{folder}/wordpiece.json", "w"))
    tokenizers = {"smollm2": lm_tokenizers.from_gguf(model), "qwen": lm_tokenizers.from_tiktoken(ranks),
                  "wordpiece": Tokenizer.from_str(json.dumps(small))}
    cases = [{"text": text} | {name: one.encode(text, add_special_tokens=False).ids for name, one in tokenizers.items()}
             for text in TEXTS]
    json.dump(cases, open(f"{folder}/token_ids.json", "w"))

    environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
    environment.filters["tojson"] = lambda value: json.dumps(value, ensure_ascii=False)
    environment.filters["map_missing"] = lambda value: value
    variables = {"messages": MESSAGES, "add_generation_prompt": True, "bos_token": "<s>"}
    made = [{"template": text, "text": environment.from_string(text).render(**variables)} for text in TEMPLATES]
    json.dump({"variables": variables, "cases": made}, open(f"{folder}/chat_templates.json", "w"), indent=1)


main()
