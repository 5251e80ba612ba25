"""name_server.py DIRECTORY: a name server on 127.0.0.1:53 with the current records of DIRECTORY/*.zone."""

import sys
from pathlib import Path

from dnslib import RCODE, RR
from dnslib.server import BaseResolver, DNSServer


class Zones(BaseResolver):
    def __init__(self, directory):
        self.directory = directory

    def resolve(self, request, handler):
        reply = request.reply()
        texts = [zone.read_text() for zone in self.directory.glob("*.zone")]
        named = [record for text in texts for record in RR.fromZone(text) if record.rname == request.q.qname]
        reply.add_answer(*(record for record in named if record.rtype == request.q.qtype))
        if not named:
            reply.header.rcode = RCODE.NXDOMAIN
        return reply


if __name__ == "__main__":
    server = DNSServer(Zones(Path(sys.argv[1])), address="127.0.0.1", port=53)
    print("listening", flush=True)
    server.start()
