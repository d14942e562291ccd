"""Writes what the built program consists of and what it can fetch, as an SBOM: CycloneDX 1.5, JSON.

    python3 cmake/sbom.py --version VERSION --rivals FOLDER [--contains PACKAGE]... [--with PACKAGE]... [--later PACKAGE]... PROGRAM...

The shared libraries are those that PROGRAM... load here, by Debian package and version as installed on this machine; --contains names
packages whose code is in the programs or beside them, --with those that are used without being linked. What `kw rivals install` fetches, from FOLDER/*.lock, is of the scope "optional", and so are
the packages of --later, which are installed when a part is first used. The same
machine and files give the same text; SOURCE_DATE_EPOCH fixes its time.
"""

import argparse
import datetime
import glob
import json
import os
import re
import subprocess
import sys
import uuid

LOADED = re.compile(r"^\s*(?:\S+ => )?(/\S+) \(0x[0-9a-f]+\)$", re.M)
LOCKED = re.compile(r"^([a-z0-9-]+)==(\S+)((?: \\\n\s+--hash=sha256:[0-9a-f]{64})+)$", re.M)


def output_of(*words):
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
    return done.stdout if done.returncode == 0 else ""


def libraries_of(programs):
    """Paths as the loader names them."""
    found = set()
    for program in programs:
        said = subprocess.run(["ldd", program], stdout=subprocess.PIPE, text=True, check=True).stdout
        if "not found" in said:
            sys.exit(f"{program}: a library is missing:\n{said}")
        found.update(LOADED.findall(said))
    return sorted(found)


def package_of(path):
    """The Debian package of a file; "" where none has it. On a system whose /lib is /usr/lib dpkg may know either name."""
    whole = os.path.realpath(path)
    for name in (path, whole, path.removeprefix("/usr"), whole.removeprefix("/usr"), "/usr" + path):
        said = output_of("dpkg-query", "-S", name)
        if said:
            return said.splitlines()[0].split(": ")[0].split(",")[0].split(":")[0]
    return ""


def known_package(package):
    """Version, architecture and source package: of what is installed, else of what apt would install."""
    said = output_of("dpkg-query", "-W", "-f", "${db:Status-Status}\\n${Version}\\n${Architecture}\\n${source:Package}\\n", package)
    if said.startswith("installed\n"):
        return said.split("\n")[1:4]
    fields = dict(re.findall(r"^(Version|Architecture|Source): (\S+)", output_of("apt-cache", "show", "--no-all-versions", package), re.M))
    return [fields["Version"], fields["Architecture"], fields.get("Source", package)] if "Version" in fields else None


def debian_component(package, kind, files=(), scope="required"):
    known = known_package(package)
    if not known:
        print(f"the package {package} is not known here, and so it is not in the SBOM", file=sys.stderr)
        return None
    version, architecture, source = known
    purl = f"pkg:deb/debian/{package.replace('+', '%2B')}@{version.replace('+', '%2B')}?arch={architecture}"
    return {"type": kind, "bom-ref": purl, "name": package, "version": version, "scope": scope,
            "purl": purl, "properties": [{"name": "kernelwright:source-package", "value": source},
                                         *({"name": "kernelwright:file", "value": os.path.basename(file)} for file in sorted(files))]}


def linked_components(programs):
    by_package, alone = {}, []
    for path in libraries_of(programs):
        package = package_of(path)
        if package:
            by_package.setdefault(package, []).append(path)
        else:
            alone.append({"type": "library", "bom-ref": "file:" + os.path.basename(path), "name": os.path.basename(path), "version": "unknown",
                          "scope": "required", "properties": [{"name": "kernelwright:file", "value": os.path.basename(path)}]})
    return [debian_component(package, "library", files) for package, files in sorted(by_package.items())] + alone


def fetched_components(folder):
    """Each package once, with the rivals that need it and the hashes of its wheels."""
    found = {}
    for file in sorted(glob.glob(os.path.join(folder, "*.lock"))):
        with open(file, encoding="utf-8") as lock:
            text = lock.read()
        packages = LOCKED.findall(text)
        if len(packages) != text.count("=="):
            sys.exit(f"{file}: a line is not understood")
        for name, version, hashes in packages:
            one = found.setdefault((name, version), {"rivals": set(), "hashes": set()})
            one["rivals"].add(os.path.basename(file).removesuffix(".lock"))
            one["hashes"].update(re.findall(r"[0-9a-f]{64}", hashes))
    return [{"type": "library", "bom-ref": f"pkg:pypi/{name}@{version}", "name": name, "version": version, "scope": "optional",
             "purl": f"pkg:pypi/{name}@{version}", "hashes": [{"alg": "SHA-256", "content": each} for each in sorted(one["hashes"])],
             "properties": [{"name": "kernelwright:rival", "value": each} for each in sorted(one["rivals"])]}
            for (name, version), one in sorted(found.items())]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--version", required=True)
    parser.add_argument("--rivals", required=True)
    parser.add_argument("--contains", action="append", default=[], dest="contained")
    parser.add_argument("--with", action="append", default=[], dest="used")
    parser.add_argument("--later", action="append", default=[])
    parser.add_argument("programs", nargs="+")
    asked = parser.parse_args()
    components = linked_components(asked.programs)
    named = {one["name"] for one in components}
    beside = [debian_component(package, "library") for package in asked.contained if package not in named]
    beside += [debian_component(package, "application") for package in asked.used if package not in named]
    beside += [debian_component(package, "library", scope="optional") for package in asked.later if package not in named]
    components += [one for one in beside if one is not None]
    components += fetched_components(asked.rivals)
    own = f"pkg:generic/kernelwright@{asked.version}"
    seconds = int(os.environ.get("SOURCE_DATE_EPOCH", datetime.datetime.now(datetime.timezone.utc).timestamp()))
    bom = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "serialNumber": "urn:uuid:" + str(uuid.uuid5(uuid.NAMESPACE_URL, own + json.dumps(components))),
        "version": 1,
        "metadata": {
            "timestamp": datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "component": {"type": "application", "bom-ref": own, "name": "kernelwright", "version": asked.version, "purl": own},
        },
        "components": components,
        "dependencies": [{"ref": own, "dependsOn": sorted(one["bom-ref"] for one in components)},
                         *({"ref": one["bom-ref"]} for one in components)],
    }
    print(json.dumps(bom, indent=1))


main()
