"""A bare git repository behind an SSH server on 127.0.0.1, which accepts one deploy key."""

import asyncio
import shlex
import subprocess
import threading
from asyncio.subprocess import PIPE

import asyncssh

KIND = "ssh-ed25519"


class GitRemote:
    """The server, with the files of its deploy key and known_hosts. It ends with the block."""

    def __init__(self, directory):
        self.repository = directory / "remote.git"
        subprocess.run(["git", "init", "--quiet", "--bare", "--initial-branch=main", self.repository], check=True)
        self.host_key, self.key = asyncssh.generate_private_key(KIND), asyncssh.generate_private_key(KIND)
        self.key_file = directory / "deploy-key"
        self.key_file.write_bytes(self.key.export_private_key())
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever)

    def __enter__(self):
        self.thread.start()
        self.server = self.await_(self.listen())
        self.port = self.server.get_port()
        return self

    def __exit__(self, *_):
        self.server.close()
        self.await_(self.server.wait_closed())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()

    def await_(self, coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result()

    async def listen(self):
        deployers = asyncssh.import_authorized_keys(self.key.export_public_key().decode())
        return await asyncssh.listen(
            "127.0.0.1",
            0,
            server_host_keys=[self.host_key],
            authorized_client_keys=deployers,
            process_factory=self.serve,
            encoding=None,
        )

    async def serve(self, process):
        """git-receive-pack or git-upload-pack, whatever repository is named: there is one."""
        program = shlex.split(process.command)[0]
        git = await asyncio.create_subprocess_exec(program, self.repository, stdin=PIPE, stdout=PIPE, stderr=PIPE)
        await process.redirect(stdin=git.stdin, stdout=git.stdout, stderr=git.stderr)
        process.exit(await git.wait())
        await process.wait_closed()

    def url(self, project):
        return f"ssh://git@127.0.0.1:{self.port}/{project}.git"

    def known_hosts(self, key=None):
        return f"[127.0.0.1]:{self.port} {(key or self.host_key).export_public_key().decode()}"

    def references(self):
        """The names of its branches and tags, with their commits."""
        command = ["git", "for-each-ref", "--format=%(refname) %(objectname)"]
        lines = subprocess.run(command, cwd=self.repository, capture_output=True, text=True, check=True).stdout
        return dict(line.split(" ") for line in lines.splitlines())
