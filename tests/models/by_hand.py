"""A model that somebody plays by hand, for the `command` provider: how the tapes of tests/models/tapes were made.

A person takes longer than the usual time-out: describe the model in kw.toml as [model.hand] with provider = "command", model = "python3
.../by_hand.py", first_byte_s = 7200 and whole_s = 7200, and say --model hand.

Writes each request to $KW_BY_HAND/N.request as a reader sees it, waits for N.answer, and prints that. Whoever answers reads the
request and nothing else.
"""
import json
import os
import sys
import time

folder = os.environ["KW_BY_HAND"]
os.makedirs(folder, exist_ok=True)
request = json.load(sys.stdin)
text = "".join("[%s]\n%s\n" % (message["role"], message["content"]) for message in request["messages"])
number = 1
while True:
    try:
        handle = os.open(os.path.join(folder, "%d.taken" % number), os.O_CREAT | os.O_EXCL)
        os.close(handle)
        break
    except FileExistsError:
        number += 1
with open(os.path.join(folder, "%d.part" % number), "w") as file:
    file.write(text)
os.rename(os.path.join(folder, "%d.part" % number), os.path.join(folder, "%d.request" % number))
answer = os.path.join(folder, "%d.answer" % number)
while not os.path.exists(answer):
    time.sleep(0.2)
sys.stdout.write(open(answer).read())
