"""make corpus: merges the inputs that the fuzzers of both programs found into the fewest that reach the same code."""

import ast
import hashlib
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
KEPT = ROOT / "conformance" / "corpus"
# For each corpus, the fuzz targets of kcup-rust and of kcup-go that read it.
TARGETS = {
    "guard": (("guard", "codec"), ("server/guard/FuzzGuard", "server/FuzzCodec")),
    "range": (("range",), ("respond/FuzzRange",)),
    "accept_encoding": (("accept_encoding",), ("respond/FuzzAcceptEncoding",)),
    "etag": (("etag",), ("respond/FuzzETagList",)),
    "client": (("client",), ("accesslog/FuzzClient",)),
}
LONGEST = 17000
GO_INPUT = re.compile(r'go test fuzz v1\n\[\]byte\("(.*)"\)\n?', re.DOTALL)
GO_RUNE = re.compile(r"\\\\|\\u(.{4})|\\U(.{8})", re.DOTALL)


def unquote(text):
    r"""The bytes of a string as Go quotes it: "\u00e9" means the character's bytes in UTF-8.

    All other escapes are those of a bytes literal of Python, which must be ASCII: "é\n" becomes b"\xc3\xa9\n".
    """
    without_runes = GO_RUNE.sub(lambda m: chr(int(m[1] or m[2], 16)) if m[1] or m[2] else m[0], text)
    literal = without_runes.encode().decode("latin-1").encode("ascii", "backslashreplace").decode()
    return ast.literal_eval(f'b"{literal}"')


def found_by_go(target):
    cache = subprocess.run(["go", "env", "GOCACHE"], capture_output=True, text=True, check=True).stdout.strip()
    for path in (Path(cache) / "fuzz" / "gitlab.com" / "kcup" / "kcup" / "kcup-go" / "internal" / target).glob("*"):
        if match := GO_INPUT.fullmatch(path.read_text(encoding="utf-8")):
            yield unquote(match[1])


def found_by_rust(target):
    for path in (ROOT / "kcup-rust" / "fuzz" / "corpus" / target).glob("*"):
        yield path.read_bytes()


def merge(target, kept, found):
    """Adds to `kept` the smallest inputs of `found` that reach new code. The codec runs a library, whose code counts as
    reached whether once or often."""
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
