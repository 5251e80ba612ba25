"""make corpus: merges what the fuzzers of both programs found; keeps as few inputs as reach all that they reached."""

import hashlib
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
KEPT = ROOT / "conformance" / "corpus"
# Each corpus, the targets in kcup-rust that read it, and those in kcup-go.
TARGETS = {
    "guard": (("guard", "codec"), ("server/guard/FuzzGuard", "server/FuzzCodec")),
    "range": (("range",), ("respond/FuzzRange",)),
    "accept_encoding": (("accept_encoding",), ("respond/FuzzAcceptEncoding",)),
    "etag": (("etag",), ("respond/FuzzETagList",)),
}
LONGEST = 17000
GO_INPUT = re.compile(r'go test fuzz v1\n\[\]byte\("(.*)"\)\n?', re.DOTALL)
GO_ESCAPE = re.compile(r"\\(x[0-9a-f]{2}|u[0-9a-f]{4}|U[0-9a-f]{8}|.)", re.DOTALL)
GO_LETTERS = {"a": 7, "b": 8, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11}


def unquote(text):
    """The bytes that Go writes as this quoted string."""
    data, at = b"", 0
    for escape in GO_ESCAPE.finditer(text):
        data += text[at : escape.start()].encode()
        at = escape.end()
        code = escape[1]
        if code[0] == "x":
            data += bytes([int(code[1:], 16)])
        elif code[0] in "uU":
            data += chr(int(code[1:], 16)).encode()
        else:
            data += bytes([GO_LETTERS.get(code, ord(code))])
    return data + text[at:].encode()


def found_by_go(target):
    cache = subprocess.run(["go", "env", "GOCACHE"], capture_output=True, text=True, check=True).stdout.strip()
    for path in (Path(cache) / "fuzz" / "gitlab.com" / "kcup" / "kcup" / "kcup-go" / "internal" / target).glob("*"):
        if match := GO_INPUT.fullmatch(path.read_text(encoding="utf-8")):
            yield unquote(match[1])


def found_by_rust(target):
    for path in (ROOT / "kcup-rust" / "fuzz" / "corpus" / target).glob("*"):
        yield path.read_bytes()


def merge(target, kept, found):
    """Adds to `kept` the smallest of `found` that reach what is not reached yet; in a library once is enough."""
    flags = ["-merge=1", f"-use_counters={int(target != 'codec')}"]
    subprocess.run(
        ["cargo", "+nightly", "fuzz", "run", "--sanitizer", "none", target, kept, found, "--", *flags],
        cwd=ROOT / "kcup-rust", check=True, capture_output=True,
    )  # fmt: skip


def main():
    for name, (rust, go) in TARGETS.items():
        with tempfile.TemporaryDirectory() as directory:
            found, kept = Path(directory, "found"), Path(directory, "kept")
            found.mkdir()
            kept.mkdir()
            inputs = [path.read_bytes() for path in (KEPT / name).glob("*")]
            inputs += [data for target in rust for data in found_by_rust(target)]
            inputs += [data for target in go for data in found_by_go(target)]
            for data in filter(lambda data: 0 < len(data) <= LONGEST, inputs):
                (found / hashlib.sha1(data).hexdigest()).write_bytes(data)
            for target in rust:
                merge(target, kept, found)
            shutil.rmtree(KEPT / name)
            shutil.copytree(kept, KEPT / name)
            sizes = [path.stat().st_size for path in kept.iterdir()]
        print(f"{name}: {len(sizes)} of {len(set(inputs))} inputs, {sum(sizes)} bytes")


if __name__ == "__main__":
    main()
