"""A competitor that serves in a container, and the size of its image, with the engine that is running."""

import contextlib
import gzip
import io
import json
import subprocess
import tarfile
import uuid

from cgroup import MEGABYTE, group_of
from contenders import fill_in, in_root
from servers import Server, content_in_directory, values, wait_until_served

# The level with which `docker push` compresses layers.
GZIP_LEVEL = 6


@contextlib.contextmanager
def container(contender, content, terms):
    """Runs the contender's image on the host's network, since a bridge would be measured as well."""
    name = f"kcup-bench-{uuid.uuid4().hex[:12]}"
    limits = ["--cpus", str(terms.cpus), "--memory", f"{terms.memory_mb}mb"]
    with content_in_directory(content) as file:
        inside = {**values(contender, file, content, terms.workers), "dir": "/", "file": "/content.txt"}
        environment = [
            word for key, value in contender.env.items() for word in ("--env", f"{key}={fill_in(value, inside)}")
        ]
        options = ["--network", "host", "--volume", f"{file}:/content.txt:ro", *environment]
        try:
            args = [fill_in(word, inside) for word in contender.args]
            docker("run", "--detach", "--name", name, *limits, *options, contender.image, *args)
            pid = int(docker("inspect", "--format", "{{.State.Pid}}", name))
            server = Server(
                contender.port,
                pid,
                group_of(pid),
                file.parent,
                is_running=lambda: docker("inspect", "--format", "{{.State.Running}}", name) == "true",
                was_killed=lambda: docker("inspect", "--format", "{{.State.OOMKilled}}", name) == "true",
            )
            wait_until_served(contender, content, server.is_running, lambda: docker("logs", name))
            yield server
        finally:
            subprocess.run(["docker", "rm", "--force", name], capture_output=True, check=False)


def docker(*args):
    done = subprocess.run(["docker", *args], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"docker {args[0]}: {done.stderr.strip()}")
    return done.stdout.strip()


def build_image(contender):
    """Builds the contender's image, unless nothing has changed."""
    done = subprocess.run(in_root(contender.build).split(), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{contender.build}: {done.stderr.strip()}")


def copy_from_image(image, path, target):
    """Copies a file from the image, to inspect the very program that it runs."""
    name = docker("create", image)
    try:
        docker("cp", f"{name}:{path}", str(target))
    finally:
        docker("rm", name)


def image_sizes(image):
    """Millions of bytes: unpacked as the engine counts, and compressed as a registry sends it."""
    saved = subprocess.run(["docker", "save", f"{image}:latest"], stdout=subprocess.PIPE, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(saved)) as archive:
        (manifest,) = json.load(archive.extractfile("manifest.json"))
        layers = [archive.extractfile(layer).read() for layer in manifest["Layers"]]
    packed = sum(len(gzip.compress(layer, GZIP_LEVEL)) for layer in layers)
    size = int(docker("image", "inspect", "--format", "{{.Size}}", f"{image}:latest"))
    return {"image_mb": size / MEGABYTE, "pull_mb": packed / MEGABYTE}
