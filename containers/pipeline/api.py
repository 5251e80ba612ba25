"""A stand-in for the two parts of GitLab's API that a release needs: generic packages and releases."""

import json
import re
import secrets
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

FILE = re.compile(r"/api/v4/projects/7/packages/generic/([\w.-]+)/([\w.-]+)/([\w.-]+)")
RELEASES = "/api/v4/projects/7/releases"


class Api:
    """Its address, a job's token, what was uploaded by name, and the releases by tag. It ends with the block."""

    def __init__(self):
        self.token, self.files, self.releases = secrets.token_urlsafe(), {}, {}
        api = self

        class Handler(BaseHTTPRequestHandler):
            def do_PUT(self):
                match = FILE.fullmatch(self.path)
                self.respond(lambda body: api.files.__setitem__(match[3], body) or 201 if match else 404)

            def do_POST(self):
                self.respond(api.release if self.path == RELEASES else lambda _: 404)

            def respond(self, act):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                self.send_response(act(body) if self.headers["JOB-TOKEN"] == api.token else 401)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_port}/api/v4"

    def release(self, body):
        """GitLab refuses a second release of a tag."""
        release = json.loads(body)
        if release["tag_name"] in self.releases:
            return 409
        self.releases[release["tag_name"]] = release
        return 201

    def variables(self):
        return {"CI_API_V4_URL": self.address, "CI_PROJECT_ID": "7", "CI_JOB_TOKEN": self.token}

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()
