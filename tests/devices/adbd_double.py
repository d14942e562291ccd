#!/usr/bin/env python3
"""A DOUBLE of a phone: what Android's adbd does for `adb shell`, over the real wire protocol, with a shell of this machine.

    adbd_double.py PORT

The real adb client and server connect to it (`adb connect 127.0.0.1:PORT`). It knows messages CNXN, OPEN, OKAY, WRTE and CLSE, the
features shell_v2 and cmd, and one service: shell,v2. It is no phone: no Android, no ARM, no authentication.
"""
import os
import select
import socket
import struct
import subprocess
import sys
import threading

VERSION, MOST_BYTES = 0x01000000, 1 << 18
STDIN, STDOUT, STDERR, EXIT, CLOSE_STDIN = range(5)


def receive(connection, count):
    data = b""
    while len(data) < count:
        more = connection.recv(count - len(data))
        if not more:
            raise EOFError
        data += more
    return data


class Phone:
    def __init__(self, connection):
        self.connection, self.lock = connection, threading.Lock()
        self.shells = {}  # by our number of the stream

    def send(self, command, first, second, data=b""):
        number = struct.unpack("<I", command)[0]
        head = command + struct.pack("<IIIII", first, second, len(data), sum(data) & 0xFFFFFFFF, number ^ 0xFFFFFFFF)
        with self.lock:
            self.connection.sendall(head + data)

    def serve(self):
        try:
            while True:
                command, first, second, size, _, _ = struct.unpack("<4sIIIII", receive(self.connection, 24))
                data = receive(self.connection, size)
                if command == b"CNXN":
                    banner = b"device::ro.product.name=double;ro.product.model=double;features=shell_v2,cmd"
                    self.send(b"CNXN", VERSION, MOST_BYTES, banner)
                elif command == b"OPEN":
                    self.open(first, data.rstrip(b"\0").decode())
                elif second in self.shells:
                    shell = self.shells[second]
                    if command == b"OKAY":
                        shell.may_send.release()
                    elif command == b"WRTE":
                        shell.hear(data)
                        self.send(b"OKAY", second, first)
                    elif command == b"CLSE":
                        shell.end()
        except (EOFError, OSError):
            for shell in list(self.shells.values()):
                shell.end()

    def open(self, theirs, service):
        if not service.startswith("shell,v2"):
            return self.send(b"CLSE", 0, theirs)
        ours = len(self.shells) + 1
        self.shells[ours] = Shell(self, ours, theirs, service.split(":", 1)[1])
        self.send(b"OKAY", ours, theirs)
        threading.Thread(target=self.shells[ours].speak, daemon=True).start()


class Shell:
    """A process, spoken to in packets of a kind, a length and bytes."""

    def __init__(self, phone, ours, theirs, command):
        self.phone, self.ours, self.theirs = phone, ours, theirs
        self.may_send = threading.Semaphore(1)  # one message, then its OKAY
        self.heard = b""
        self.process = subprocess.Popen(["sh", "-c", command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def hear(self, data):
        self.heard += data
        while len(self.heard) >= 5:
            kind, size = struct.unpack("<BI", self.heard[:5])
            if len(self.heard) < 5 + size:
                return
            packet, self.heard = self.heard[5 : 5 + size], self.heard[5 + size :]
            try:
                if kind == STDIN:
                    self.process.stdin.write(packet)
                    self.process.stdin.flush()
                elif kind == CLOSE_STDIN:
                    self.process.stdin.close()
            except (BrokenPipeError, ValueError):
                pass

    def say(self, kind, data):
        self.may_send.acquire()
        self.phone.send(b"WRTE", self.ours, self.theirs, struct.pack("<BI", kind, len(data)) + data)

    def speak(self):
        kinds = {self.process.stdout.fileno(): STDOUT, self.process.stderr.fileno(): STDERR}
        try:
            while kinds:
                for file in select.select(list(kinds), [], [])[0]:
                    data = os.read(file, 65536)
                    if data:
                        self.say(kinds[file], data)
                    else:
                        del kinds[file]
            self.say(EXIT, bytes([self.process.wait() & 0xFF]))
            self.may_send.acquire()
            self.phone.send(b"CLSE", self.ours, self.theirs)
        except OSError:
            self.end()

    def end(self):
        self.process.kill()
        self.may_send.release()


def main():
    server = socket.create_server(("127.0.0.1", int(sys.argv[1])))
    while True:
        connection, _ = server.accept()
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        threading.Thread(target=Phone(connection).serve, daemon=True).start()


if __name__ == "__main__":
    main()
