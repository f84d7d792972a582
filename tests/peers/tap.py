"""A tap on the line between a client and the daemon: everything passes, and what passed is kept."""

import http.client
import json
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

# They belong to one connection, of which there are two here.
HOP = ("connection", "keep-alive", "transfer-encoding", "host")


@dataclass
class Seen:
    """One request, and the answer that the daemon gave to it. Names of headers are in lower case."""

    method: str
    path: str
    headers: dict[str, str]
    body: str
    status: int = 0
    answered: dict[str, str] = field(default_factory=dict)
    answer: bytes = b""

    def message(self) -> dict | None:
        return json.loads(self.body) if self.body else None

    def reply(self) -> dict | None:
        """The JSON-RPC message that answered it as JSON."""
        return json.loads(self.answer) if self.answer and "json" in self.answered.get("content-type", "") else None


class Tap:
    """Listens on a port of its own while it is open."""

    def __init__(self, port: int):
        self.seen: list[Seen] = []
        seen = self.seen

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def pass_on(self):
                body = self.rfile.read(int(self.headers.get("content-length") or 0))
                headers = {name.lower(): value for name, value in self.headers.items()}
                one = Seen(self.command, self.path, headers, body.decode())
                seen.append(one)
                daemon = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
                try:
                    sent = {name: value for name, value in headers.items() if name not in HOP}
                    daemon.request(one.method, one.path, body or None, sent)
                    self.answer(one, daemon.getresponse())
                except OSError:
                    # One of the two left: so does the other.
                    pass
                finally:
                    self.close_connection = True
                    daemon.close()

            def answer(self, one: Seen, response):
                one.status = response.status
                one.answered = {name.lower(): value for name, value in response.getheaders()}
                self.send_response(response.status)
                for name, value in one.answered.items():
                    if name not in HOP:
                        self.send_header(name, value)
                # The end of the connection ends a stream.
                self.send_header("connection", "close")
                self.end_headers()
                while chunk := response.read1(65536):
                    one.answer += chunk
                    self.wfile.write(chunk)
                    self.wfile.flush()

            do_GET = do_POST = do_DELETE = do_OPTIONS = do_HEAD = do_PUT = pass_on

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        # A stream that a client left open must not hold the end up.
        self.server.daemon_threads = True
        self.server.block_on_close = False
        self.base = f"http://127.0.0.1:{self.server.server_port}"

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()
