"""What kw asks of a device's own Python before a framework runs there: which it is, what it has, and to unpack wheels.

The agent starts `python3 -B device.py` with a socket as descriptor 3; one JSON object a packet, as in worker.py.

  about  packages (name: version, or "")  -> version, libc, path, has: all of them are there
  have   folder, stamp                    -> have: all of it was unpacked before
  unpack wheel, folder                    -> -
  finish part, folder, stamp              -> -
"""

import importlib.metadata
import json
import os
import platform
import shutil
import socket
import sys
import zipfile

STAMP = "installed.txt"


def has(name, version):
    try:
        return importlib.metadata.version(name) == version or not version
    except importlib.metadata.PackageNotFoundError:
        return False


def about(command):
    path = [one for one in sys.path[1:] if os.path.isdir(one)]  # the first is this file's folder
    return {
        "version": "%d.%d" % sys.version_info[:2],
        "libc": list(platform.libc_ver()),
        "path": path,
        "has": all(has(name, version) for name, version in command["packages"].items()),
    }


def have(command):
    try:
        with open(os.path.join(command["folder"], STAMP), encoding="utf-8") as file:
            return {"have": file.read() == command["stamp"]}
    except OSError:
        return {"have": False}


def unpack(command):
    with zipfile.ZipFile(command["wheel"]) as wheel:
        for entry in wheel.infolist():
            made = wheel.extract(entry, command["folder"])
            if (entry.external_attr >> 16) & 0o111 and os.path.isfile(made):
                os.chmod(made, 0o700)  # a program in it
    os.unlink(command["wheel"])
    return {}


def finish(command):
    """Half of an installation never has the whole one's name."""
    with open(os.path.join(command["part"], STAMP), "w", encoding="utf-8") as file:
        file.write(command["stamp"])
    shutil.rmtree(command["folder"], ignore_errors=True)
    os.rename(command["part"], command["folder"])
    return {}


def main():
    link = socket.socket(fileno=3)
    commands = {"about": about, "have": have, "unpack": unpack, "finish": finish}
    while True:
        packet = link.recv(1 << 20)
        if not packet:
            return
        command = json.loads(packet)
        try:
            answer = commands[command["do"]](command)
        except Exception as problem:  # a full disk, a wheel that is none: kw tells the user
            answer = {"error": f"{type(problem).__name__}: {problem}"[:2000]}
        link.send(json.dumps(answer).encode())


main()
