#!/usr/bin/env python3
"""Run a program once for each worker, each with a socket of its own on one port (SO_REUSEPORT), passed as systemd does.

reuseport.py HOST PORT WORKERS PROGRAM [ARGUMENT ...]
"""

import os
import signal
import socket
import sys

# Where systemd puts the first socket that it passes.
FIRST_PASSED = 3


def listening(host, port):
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    listener.bind((host, port))
    listener.listen(socket.SOMAXCONN)
    return listener


def started(listener, command):
    child = os.fork()
    if child == 0:
        if listener.fileno() == FIRST_PASSED:
            os.set_inheritable(FIRST_PASSED, True)
        else:
            os.dup2(listener.fileno(), FIRST_PASSED)
        os.execve(command[0], command, {**os.environ, "LISTEN_FDS": "1", "LISTEN_PID": str(os.getpid())})
    return child


def main(host, port, workers, *command):
    listeners = [listening(host, int(port)) for _ in range(int(workers))]
    children = [started(listener, command) for listener in listeners]

    def end(*_):
        for child in children:
            os.kill(child, signal.SIGTERM)

    signal.signal(signal.SIGTERM, end)
    for listener in listeners:
        listener.close()
    sys.exit(max(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children))


if __name__ == "__main__":
    main(*sys.argv[1:])
