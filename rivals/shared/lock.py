"""Writes rivals/NAME.lock, what pip installs for a rival: every package with its version and the SHA-256 of its wheels.

    python3 rivals/shared/lock.py [NAME ...]
    python3 rivals/shared/lock.py tests/requirements.txt     tests/requirements.lock, in the same way

For who maintains kw, after a line `# packages:` or a list of requirements was changed. The versions are those that pip chooses
for the Python that runs this; the hashes are of all wheels of that version for Linux on x86_64 and aarch64, as the index names
them. Of a list whose name ends in _alone.txt the packages are taken without what they ask for.
"""

import html
import json
import os
import re
import subprocess
import sys
import urllib.request

INDEX = os.environ.get("PIP_INDEX_URL", "https://pypi.org/simple")
FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PLATFORM = re.compile(r"-(any|[a-z0-9_.]*linux[a-z0-9_.]*_(x86_64|aarch64))\.whl$")


def packages_of(name):
    if name.endswith(".txt"):
        with open(name, encoding="utf-8") as file:
            return [line.strip() for line in file if line.strip() and not line.startswith("#")]
    with open(os.path.join(FOLDER, name + ".py"), encoding="utf-8") as file:
        return re.search(r"^# packages:(.*)$", file.read(), re.M)[1].split()


def chosen(packages, alone):
    words = [sys.executable, "-I", "-m", "pip", "install", "--dry-run", "--ignore-installed", "--only-binary", ":all:", "--quiet",
             "--report", "-", *(["--no-deps"] if alone else []), *packages]
    report = json.loads(subprocess.run(words, check=True, stdout=subprocess.PIPE, cwd="/").stdout)
    return sorted((re.sub(r"[-_.]+", "-", one["metadata"]["name"]).lower(), one["metadata"]["version"]) for one in report["install"])


def hashes_of(name, version):
    with urllib.request.urlopen(f"{INDEX}/{name}/", timeout=60) as page:
        links = re.findall(r'href="([^"]+)"', page.read().decode())
    hashes = set()
    for link in map(html.unescape, links):
        file, _, fragment = link.rpartition("/")[2].partition("#sha256=")
        parts = file.split("-")
        if len(parts) > 2 and parts[1] == version and PLATFORM.search(file) and fragment:
            hashes.add(fragment)
    if not hashes:
        sys.exit(f"the index names no wheel of {name} {version} with its hash")
    return sorted(hashes)


def main():
    names = sys.argv[1:] or sorted(one[:-3] for one in os.listdir(FOLDER) if one.endswith(".py"))
    for name in names:
        lines = ["# Made by rivals/shared/lock.py; pip installs nothing whose hash is not here.\n"]
        for package, version in chosen(packages_of(name), name.endswith("_alone.txt")):
            lines.append(f"{package}=={version}" + "".join(f" \\\n    --hash=sha256:{one}" for one in hashes_of(package, version)) + "\n")
        lock = name.removesuffix(".txt") + ".lock" if name.endswith(".txt") else os.path.join(FOLDER, name + ".lock")
        with open(lock, "w", encoding="utf-8") as file:
            file.writelines(lines)
        print(name, len(lines) - 1)


main()
