"""containers/with-engine in a job as GitLab's runners start it: in a container, with version 2 of control groups. A
container with limits runs in that engine and responds. `make test-engine`, half a minute.

python3 vm/engine PROGRAM    a static kcup
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HOME = Path(__file__).resolve().parent
sys.path.insert(0, str(HOME.parent))

from kernels import ROOT, kernel  # noqa: E402
from machine import APPEND, QEMU, with_libraries  # noqa: E402

SECONDS = 600
PROGRAMS = [
    *("bash", "cat", "env", "flock", "id", "insmod", "ip", "mkdir", "mount", "sed", "setsid", "sleep", "stat"),
    *("tail", "tar", "umount", "unshare"),
    *("containerd", "containerd-shim-runc-v2", "docker", "docker-proxy", "dockerd", "runc"),
]
PATH = "/usr/sbin:/usr/bin"
MODULES = ["llc", "stp", "bridge", "veth", "overlay"]
FOLDERS = ["bin", "dev", "etc", "image", "modules", "proc", "root", "run", "sys", "tmp", "var"]
EXPECTED = ["version 2, overlay2", "memory 67108864", "HTTP/1.1 200 OK", "hello", "exit 0", "status 0"]


def fill(root, boot, program):
    """Everything in the machine."""
    for folder in FOLDERS:
        (root / folder).mkdir(parents=True)
    for path in {path for name in PROGRAMS for path in with_libraries(shutil.which(name, path=PATH))}:
        to = root / path.lstrip("/")
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, to)
    for module in MODULES:
        (found,) = boot.parent.glob(f"lib/modules/*/kernel/**/{module}.ko*")
        shutil.copy(found, root / "modules")
    (root / "etc/passwd").write_text("root:x:0:0:root:/root:/bin/bash\n")
    (root / "etc/group").write_text("root:x:0:\n")
    shutil.copy(HOME / "job.sh", root / "init")
    shutil.copy(HOME / "steps.sh", root)
    shutil.copy(ROOT / "containers/with-engine", root)
    shutil.copy(program, root / "image/kcup")


def run(program):
    """What the job printed, and the machine's console."""
    path, _ = kernel("bookworm")
    with tempfile.TemporaryDirectory(prefix="kcup-vm.") as folder:
        into = Path(folder)
        fill(into / "root", path.parent, program)
        with (into / "initramfs").open("wb") as output:
            pack = "find . | cpio --quiet -o -H newc"
            subprocess.run(pack, shell=True, cwd=into / "root", check=True, stdout=output)
        boot = ["-kernel", path, "-initrd", into / "initramfs", "-append", APPEND]
        serial = ["-serial", f"file:{into / 'console'}", "-serial", f"file:{into / 'job'}"]
        subprocess.run([*QEMU, *boot, *serial], stdin=subprocess.DEVNULL, check=True, timeout=SECONDS)
        return (into / "job").read_text(errors="replace"), (into / "console").read_text(errors="replace")


if __name__ == "__main__":
    printed, console = run(sys.argv[1])
    print(printed, end="")
    if printed.split("\n")[:-1] != EXPECTED:
        print(console, end="")
        raise SystemExit("that is not what is expected")
