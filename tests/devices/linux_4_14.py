"""Runs a program as on Linux 4.14 (Android 10), as far as system calls go: those that came later do not exist (ENOSYS).

    python3 linux_4_14.py PROGRAM WORDS...

For x86-64, where statx (332) was the last one then. A double of the old kernel's list of calls, not of its behaviour.
"""

import ctypes
import os
import sys

LAST_CALL = 332
X86_64 = 0xC000003E
ALLOW, ENOSYS = 0x7FFF0000, 0x00050000 | 38
LOAD, EQUAL, GREATER, RETURN = 0x20, 0x15, 0x25, 0x06
NO_NEW_PRIVILEGES, SECCOMP, FILTER = 38, 22, 2


class Instruction(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint16), ("then", ctypes.c_uint8), ("otherwise", ctypes.c_uint8), ("value", ctypes.c_uint32)]


class Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_uint16), ("instructions", ctypes.POINTER(Instruction))]


def main() -> None:
    words = [
        (LOAD, 0, 0, 4),  # the architecture
        (EQUAL, 0, 3, X86_64),
        (LOAD, 0, 0, 0),  # the call's number
        (GREATER, 0, 1, LAST_CALL),
        (RETURN, 0, 0, ENOSYS),
        (RETURN, 0, 0, ALLOW),
    ]
    instructions = (Instruction * len(words))(*(Instruction(*word) for word in words))
    program = Program(len(words), instructions)
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    if prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0) != 0 or prctl(SECCOMP, FILTER, ctypes.byref(program)) != 0:
        sys.exit(f"no filter of system calls here: {os.strerror(ctypes.get_errno())}")
    os.execvp(sys.argv[1], sys.argv[1:])


if __name__ == "__main__":
    main()
