"""Starts a program as systemd does: python activate.py FD PID COUNT PROGRAM …; FD becomes 3, PID may be `self`."""

import os
import sys

descriptor, process, count, *argv = sys.argv[1:]
if descriptor != "none":
    os.dup2(int(descriptor), 3)
else:
    os.closerange(3, 4)
os.environ["LISTEN_PID"] = str(os.getpid()) if process == "self" else process
os.environ["LISTEN_FDS"] = count
os.execv(argv[0], argv)
