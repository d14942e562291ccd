"""A scripted model, a double: plays ten rounds of MoKA on the task Relu through the `command` provider.

Compile error, its repair with a wrong result, its repair (right, but slow), faster, a regression, a plan that repeats it, faster
still, edits that do not fit, a refusal to speak JSON, code in no fence. It knows the round from the history in the prompt; what it answers
depends on nothing else. Run as scripted_model.py, it reads a request and prints the answer.
"""
import json
import re
import sys

HEAD = "#include <kernelwright.h>\n"


def kernel(body, head=HEAD):
    return f"```cpp\n{head}\nKW_KERNEL(call) {{\n  const auto x = call.input<float>(0);\n  auto y = call.output<float>(0);\n{body}}}\n```\n"


PLAIN_LOOP = "  for (int64_t i = 0; i < x.count(); ++i) y[i] = x[i] > 0 ? x[i] : 0;\n"
# Right and slow: volatile keeps the compiler from doing anything clever.
SLOW = "  for (int64_t i = 0; i < x.count(); ++i) {\n    volatile float v = x[i];\n    y[i] = v > 0 ? v : 0;\n  }\n"
SLOWER = "  for (int64_t i = 0; i < x.count(); ++i) {\n    volatile float v = x[i];\n    volatile float w = v;\n    volatile float z = w;\n    y[i] = z > 0 ? z : 0;\n  }\n"
FASTER = ("  const float* p = x.data();\n  float* q = y.data();\n  const int64_t n = x.count();\n  int64_t i = 0;\n"
          "  for (; i + 4 <= n; i += 4) _mm_storeu_ps(q + i, _mm_max_ps(_mm_loadu_ps(p + i), _mm_setzero_ps()));\n"
          "  for (; i < n; ++i) q[i] = p[i] > 0 ? p[i] : 0;\n")
WIDE = FASTER.replace("i + 4", "i + 8").replace("i += 4", "i += 8").replace("_mm_", "_mm256_")


def plan(method):
    return json.dumps({"reflection": "every round teaches something", "bottleneck": "the loop", "method": method, "plan": "1. do it"})


def repair(cause):
    return json.dumps({"reflection": "read the message", "cause": cause, "reach": "local", "plan": ["1. mend it", "2. change nothing else"]})


# By the number of the round that is asked for: what the planner says (a list: first try, second try) and what the coder writes.
STORY = {
    1: ([plan("unroll")], kernel("  for (int64_t i = 0; i < x.count(); ++i) y[i] = x[i] > zero ? x[i] : 0;\n")),
    2: ([repair("zero is not declared")], kernel("  for (int64_t i = 0; i + 16 <= x.count(); ++i) y[i] = x[i] > 0 ? x[i] : 0;\n")),
    3: ([repair("the tail is left out")], "Here it is.\n" + kernel(SLOW)),
    4: (["I think we should use vectors.", plan("vectors of four")], "First a sketch:\n```python\nprint('relu')\n```\n" + kernel(FASTER)),
    5: ([plan("volatile everywhere")], kernel(SLOWER)),
    6: ([plan("Volatile, everywhere!"), plan("vectors of eight")], kernel(WIDE)),
    7: ([plan("prefetch")], "<<<<<<< SEARCH\n  this line is not there\n=======\n  nor this\n>>>>>>> REPLACE\n"),
    8: (["no", "never"], "unused"),
    9: ([plan("another language")], "```python\nimport numpy\n```\n"),
    10: ([plan("a name of its own")], "<<<<<<< SEARCH\n  const float* p = x.data();\n=======\n  const float* p = x.data();  // the input\n>>>>>>> REPLACE\n"),
}


def answer(request):
    messages = request["messages"]
    prompt = messages[0]["content"]
    if "# What was tried before" in prompt:
        history = prompt.split("# What was tried before", 1)[1].split("\n# ", 1)[0]
        # A tuner's round is nobody's question.
        rounds = re.findall(r"^round (\d+)[^(\n]*\((\w+)\)", history, re.M)
        number = sum(role != "tuner" for _, role in rounds)
        tries = STORY[number][0]
        with open(sys.argv[1], "w") as note:
            note.write(str(number))
        return tries[min(len(messages) // 2, len(tries) - 1)]
    with open(sys.argv[1]) as note:
        return STORY[int(note.read())][1]


if __name__ == "__main__":
    text = answer(json.load(sys.stdin))
    print(json.dumps({"text": text, "usage": {"input_tokens": 100, "output_tokens": 10}}))
