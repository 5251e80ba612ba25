"""A virtual machine that runs a plan: its files, its start, its output, its end."""

import json
import os
import re
import shlex
import shutil
import subprocess
import tempfile
import threading
from pathlib import Path

HOME = Path(__file__).resolve().parent
# Time in the machine follows its instructions, 2 to the power of SHIFT ns each, whatever this host does.
SHIFT = 1
MIPS = 1000 >> SHIFT
# Without ERMS, copying counts every instruction. The emulator's CMPXCHG16B sets wrong flags.
QEMU = shlex.split(
    "setpriv --pdeathsig KILL qemu-system-x86_64 -accel tcg -cpu max,-erms,-cx16 -m 3072 -smp 1"
    f" -icount shift={SHIFT},sleep=off -display none -monitor none -nic none -no-reboot"
)
# Debian's programs, with the libraries that they load.
OTHERS = ["/usr/sbin/nginx", "/usr/sbin/lighttpd", "/usr/bin/wrk"]
FOLDERS = ["bin", "dev", "etc", "proc", "sys", "run", "tmp", "var/log/nginx", "var/lib/nginx", "var/log/lighttpd"]
APPEND = (
    "console=ttyS0 quiet cgroup_no_v1=all panic=1 mitigations=off tsc=reliable"
    " cryptomgr.notests oops=panic rdinit=/init"
)


def with_libraries(program):
    """The program and the libraries listed by ldd."""
    listed = subprocess.run(["ldd", program], stdout=subprocess.PIPE, text=True, check=True).stdout
    return [program, *re.findall(r"(/\S+) \(0x", listed)]


def initramfs(into, programs, plan):
    """Writes the archive of all files in the machine. `programs` are the paths of kcup-rust and kcup-go."""
    root = into / "root"
    for folder in FOLDERS:
        (root / folder).mkdir(parents=True)
    subprocess.run(
        ["go", "build", "-o", root / "init", "."], cwd=HOME / "init", check=True, env=os.environ | {"CGO_ENABLED": "0"}
    )
    (root / "etc/passwd").write_text("root:x:0:0:root:/:/init\n")
    (root / "etc/group").write_text("root:x:0:\n")
    for name, path in programs.items():
        shutil.copy(path, root / "bin" / name)
    for path in sorted({path for program in OTHERS for path in with_libraries(program)}):
        to = root / path.lstrip("/")
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, to)
    for config in HOME.glob("*.conf"):
        shutil.copy(config, root)
    (root / "plan.json").write_text(json.dumps(plan))
    archive = into / "initramfs"
    with archive.open("wb") as output:
        subprocess.run("find . | cpio --quiet -o -H newc", shell=True, cwd=root, check=True, stdout=output)
    shutil.rmtree(root)
    return archive


class Machine:
    """Boots, and yields results as they arrive. It is ended after `seconds`, whatever it is doing."""

    def __init__(self, kernel, programs, plan, seconds, verbose=False):
        self.kernel, self.programs, self.plan, self.seconds, self.verbose = kernel, programs, plan, seconds, verbose

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="kcup-vm.")
        into = Path(self.folder.name)
        self.console = into / "console"
        console = "file:/dev/stderr" if self.verbose else f"file:{self.console}"
        archive = initramfs(into, self.programs, self.plan)
        boot = ["-kernel", self.kernel, "-initrd", archive, "-append", APPEND]
        command = [*QEMU, *boot, "-serial", console, "-serial", "stdio"]
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        self.limit = threading.Timer(self.seconds, self.process.kill)
        self.limit.start()
        return self

    def __exit__(self, *_):
        self.limit.cancel()
        self.process.kill()
        self.process.wait()
        self.folder.cleanup()

    def results(self):
        """One result for each row of the plan, unless the machine ends before; with the CPU time used on this host."""
        before = self.cpu_seconds()
        for line in self.process.stdout:
            now = self.cpu_seconds()
            yield json.loads(line) | {"cpu_seconds": round(now - before, 1)}
            before = now

    def cpu_seconds(self):
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def last_words(self):
        return "" if self.verbose else self.console.read_text(errors="replace")[-2000:]
