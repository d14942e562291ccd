"""Writes a small wheel, and an index in which pip finds it:  make_wheel.py FOLDER. Prints the wheel's SHA-256."""

import hashlib
import os
import sys
import zipfile

NAME = "nimble-1.0-py3-none-any.whl"

folder = os.path.join(sys.argv[1], "simple", "nimble")
os.makedirs(folder)
with zipfile.ZipFile(os.path.join(folder, NAME), "w") as wheel:
    wheel.writestr("nimble.py", "import numpy as np\n\ndef relu(x, out):\n    np.maximum(x, 0, out=out)\n")
    wheel.writestr("nimble-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: nimble\nVersion: 1.0\n")
    wheel.writestr("nimble-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nGenerator: kw\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
    wheel.writestr("nimble-1.0.dist-info/RECORD", "nimble.py,,\n")
with open(os.path.join(folder, NAME), "rb") as file:
    digest = hashlib.sha256(file.read()).hexdigest()
with open(os.path.join(folder, "index.html"), "w", encoding="utf-8") as page:
    page.write(f'<a href="{NAME}#sha256={digest}">{NAME}</a>')
print(digest)
