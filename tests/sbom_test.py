"""The SBOM has what CycloneDX asks for, names every library that the programs load, what a language model needs besides, and every
package of the locks with its hashes.

    sbom_test.py SOURCE_FOLDER SBOM PROGRAM...
"""

import json
import os
import re
import subprocess
import sys

SOURCE, SBOM, *PROGRAMS = sys.argv[1:]
KINDS = {"application", "framework", "library", "container", "operating-system", "device", "firmware", "file"}

with open(SBOM, encoding="utf-8") as file:
    bom = json.load(file)
components = bom["components"]

# Required by the specification.
assert bom["bomFormat"] == "CycloneDX" and bom["specVersion"] == "1.5", bom
assert isinstance(bom["version"], int) and bom["version"] >= 1
assert re.fullmatch(r"urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", bom["serialNumber"])
assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", bom["metadata"]["timestamp"])
for one in [bom["metadata"]["component"], *components]:
    assert one["type"] in KINDS and one["name"] and one["version"], one
    assert one.get("scope", "required") in ("required", "optional", "excluded"), one
    for each in one.get("hashes", []):
        assert each["alg"] == "SHA-256" and re.fullmatch("[0-9a-f]{64}", each["content"]), one
refs = [one["bom-ref"] for one in [bom["metadata"]["component"], *components]]
assert len(refs) == len(set(refs)), "two components have one bom-ref"
assert {one["ref"] for one in bom["dependencies"]} == set(refs)
assert all(to in refs for one in bom["dependencies"] for to in one.get("dependsOn", []))
assert bom["metadata"]["component"]["name"] == "kernelwright"

# What the programs load. The loader's names are asked of readelf, not of what the SBOM was made with.
files = {each["value"] for one in components for each in one.get("properties", []) if each["name"] == "kernelwright:file"}
wanted = set()
for program in PROGRAMS:
    wanted |= set(re.findall(r"\(NEEDED\).*\[(.+)\]", subprocess.run(["readelf", "-d", program], stdout=subprocess.PIPE, text=True,
                                                                     check=True).stdout))
assert len(wanted) > 5, wanted
assert wanted <= files, f"not named: {wanted - files}"
for name in ("libc6", "libsqlite3-0", "libcurl4", "node-d3", "libtomlplusplus-dev", "g++"):
    assert any(one["name"] == name and one["scope"] == "required" for one in components), name

# What is installed when a language model is first run.
with open(os.path.join(SOURCE, "packages.txt"), encoding="utf-8") as file:
    later = [line.split()[1] for line in file if line.startswith("lm ")]
assert "libtorch-dev" in later
for name in later:
    assert any(one["name"] == name and one["purl"].startswith("pkg:deb/") for one in components), name

# What can be fetched.
fetched = {(one["name"], one["version"]): {each["content"] for each in one["hashes"]} for one in components
           if one.get("purl", "").startswith("pkg:pypi/")}
locked = {}
for lock in os.listdir(os.path.join(SOURCE, "rivals")):
    if not lock.endswith(".lock"):
        continue
    with open(os.path.join(SOURCE, "rivals", lock), encoding="utf-8") as file:
        for line in file:
            if match := re.match(r"([a-z0-9-]+)==(\S+)", line):
                latest = locked.setdefault(match.groups(), set())
            latest_hash = re.search(r"sha256:([0-9a-f]{64})", line)
            if latest_hash:
                latest.add(latest_hash[1])
assert locked == fetched, set(locked) ^ set(fetched)
print(f"{len(components)} components, {len(wanted)} linked libraries, {len(fetched)} that can be fetched")
