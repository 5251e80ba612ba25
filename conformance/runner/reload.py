"""Reloads: the cases of cases/reload.toml, the ways to replace a file, and waiting for a reload."""

import os
import signal
import socket
from dataclasses import dataclass, field, replace
from pathlib import Path

from .cases import HttpCase, of_kind, option_set, option_sets
from .exchange import perform
from .parts import to_bytes
from .process import PATIENCE, until
from .twin import write_file
from .wire import Connection

GET = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
STAYS = "; the last good content stays"


@dataclass(frozen=True)
class ReloadCase:
    """From the content of one set to that of another, or to a file without content; and the warnings."""

    name: str
    spec: list
    set: str
    to: str | None = None
    file: dict = field(default_factory=dict)
    target: str = "/"
    warnings: list = field(default_factory=list)


def reload_cases():
    sets = option_sets()
    cases = of_kind("reload", ReloadCase)
    return [replace(case, set=sets[case.set], to=sets[case.to] if case.to else None) for case in cases]


def plain(content, mtime=784111777):
    """An option set for a content that no set has."""
    return replace(option_set("content", {"content": ""}), content=content, mtime=mtime)


def rename_over(path, content, mtime=None):
    new = path.with_name("..new")
    write_file(new, content, mtime)
    new.rename(path)


def truncate_and_write(path, content, mtime=None):
    write_file(path, content, mtime)


def delete_and_recreate(path, content, mtime=None):
    path.unlink()
    write_file(path, content, mtime)


def swap_the_data_link(path, content, mtime=None):
    """As the kubelet does: creates a new directory, and renames a link to it over ..data."""
    directory = path.parent
    version = directory / f"..{len(list(directory.iterdir()))}"
    version.mkdir()
    write_file(version / path.name, content, mtime)
    (directory / "..data_tmp").symlink_to(version.name)
    (directory / "..data_tmp").rename(directory / "..data")


def config_map(name):
    """For preexec_fn: lays the file out as in a mounted ConfigMap."""
    os.mkdir("..0")
    Path(name).rename(f"..0/{name}")
    Path("..data").symlink_to("..0")
    Path(name).symlink_to(f"..data/{name}")


WAYS = [rename_over, truncate_and_write, delete_and_recreate, swap_the_data_link]


def become(path, file):
    """Replaces the file as a case says, with nothing, a directory, a link and so on, or changes its mode or content."""
    if "mode" in file:
        return path.chmod(file["mode"])
    clear(path)
    if "directory" in file:
        path.mkdir()
    elif "fifo" in file:
        os.mkfifo(path)
    elif "socket" in file:
        with socket.socket(socket.AF_UNIX) as bound:
            bound.bind(str(path))
    elif "link" in file:
        path.symlink_to(file["link"])
    elif "content" in file:
        write_file(path, to_bytes(file["content"]))
    return None


def clear(path):
    """Removes what is there."""
    if path.is_dir() and not path.is_symlink():
        path.rmdir()
    else:
        path.unlink(missing_ok=True)


def get(address, target="/"):
    with Connection(address) as connection:
        connection.send(GET.replace(b" / ", f" {target} ".encode()))
        return connection.response()


def serves(server, options, target="/"):
    """Whether this content is being served."""
    return get(server.address, target).one("etag") == options.fill("<etag>")


def reload(server, options, target="/"):
    """Triggers a reload and waits for this content."""
    server.signal(signal.SIGHUP)
    until(lambda: serves(server, options, target), PATIENCE)


def warned(server, count):
    """Waits for this many warnings, and returns all of them."""
    return until(lambda: len(found := server.events("warn", "error")) >= count and found)


def hold_to_all(server, options, target="/", before=None):
    """Every kind of response is of this content, and none of the previous one."""
    large = 1024 <= len(options.content) <= 1048576 and options.type.startswith("text/")
    varied = large and "--preset" not in options.args
    for method, fields, want in (
        ("GET", [], {"status": 200, "encoding": "identity"}),
        ("HEAD", [], {"status": 200, "bodyless": True}),
        ("GET", ["Accept-Encoding: br"], {"status": 200, "encoding": "br" if varied else "identity"}),
        ("GET", ["Accept-Encoding: gzip"], {"status": 200, "encoding": "gzip" if varied else "identity"}),
        ("GET", ["Range: bytes=1-2"], {"status": 206, "range": "1-2"}),
        ("GET", ["If-None-Match: <etag>"], {"status": 304}),
        *([("GET", [f"If-None-Match: {before.fill('<etag>')}"], {"status": 200})] if before else []),
    ):
        head = options.fill("\r\n".join([f"{method} {target} HTTP/1.1", "Host: a", *fields, "", ""])).encode()
        perform(server.address, HttpCase("", (), options, head, (want,), None, False, False))
