"""A model that does what a test says: it calls tools in a given order, and ends. Clients take it for Anthropic's API."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Model:
    """Listens while it is open. `asked` holds every request; each step is a tool's name and its arguments."""

    def __init__(self, *steps: tuple[str, dict]):
        self.asked: list[dict] = []
        model = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
                if self.path.partition("?")[0] != "/v1/messages":
                    return self.send_error(404)
                model.asked.append(asked)
                done = len(model.results())
                content, reason = tool_use(done, *steps[done]) if done < len(steps) else text("That was all.")
                self.send_response(200)
                self.send_header("content-type", "text/event-stream")
                self.end_headers()
                for event in reply(content, reason):
                    self.wfile.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.base = f"http://127.0.0.1:{self.server.server_port}"

    def results(self) -> list[dict]:
        """What the client's tools have answered so far."""
        messages = self.asked[-1]["messages"]
        blocks = [block for it in messages if isinstance(it["content"], list) for block in it["content"]]
        return [block for block in blocks if block["type"] == "tool_result"]

    def tools(self) -> dict[str, dict]:
        return {tool["name"]: tool for tool in self.asked[-1]["tools"]}

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


def tool_use(number: int, name: str, arguments: dict) -> tuple[tuple[dict, dict], str]:
    delta = {"type": "input_json_delta", "partial_json": json.dumps(arguments)}
    return ({"type": "tool_use", "id": f"toolu_{number}", "name": name, "input": {}}, delta), "tool_use"


def text(said: str) -> tuple[tuple[dict, dict], str]:
    return ({"type": "text", "text": ""}, {"type": "text_delta", "text": said}), "end_turn"


def reply(content: tuple[dict, dict], reason: str) -> list[dict]:
    """One answer with one block, as the events of a stream."""
    block, delta = content
    head = {"id": "msg", "type": "message", "role": "assistant", "model": "scripted", "content": [], "stop_reason": None}
    return [
        {"type": "message_start", "message": head | {"usage": {"input_tokens": 1, "output_tokens": 1}}},
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 1}},
        {"type": "message_stop"},
    ]
