"""An emulator of Anthropic's Messages API whose model follows a script, for programs that run
Claude Code without network.

    python3 scripted_messages.py PROGRAM

Runs the Python program PROGRAM against the emulator, and exits as PROGRAM does. The main agent
writes down the problem and starts the subagents `analysis` and `review`. Each of them reads the
problem and writes its findings, with the tools of the MCP server that has its name.
"""

import itertools
import json
import os
import subprocess
import sys
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

ids = itertools.count(1)


def script(tools: list[str]) -> list[tuple[str, dict[str, Any]]]:
    """Returns the calls of the agent that has `tools`: the name of a tool, and its arguments."""
    memory = [it.split("__")[1] for it in tools if it.endswith("__context_write")]
    if len(memory) != 1:
        raise ValueError(f"an agent has the tools of its own memory only, not {tools}")
    member = memory[0]
    write = f"mcp__{member}__context_write"
    if member == "orchestrator":
        subagents = [
            {"subagent_type": task, "description": task, "prompt": f"Do the {task}."}
            for task in ("analysis", "review")
        ]
        problem = {"key": "problem_summary", "value": "It is slow."}
        return [(write, problem), *(("Agent", it) for it in subagents)]
    findings = {"key": f"{member}_findings", "value": "The connection pool is too small."}
    return [(f"mcp__{member}__context_read", {"keys": ["problem_summary"]}), (write, findings)]


def results(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Returns the results of tools in `messages`."""
    contents = [it["content"] for it in messages if isinstance(it["content"], list)]
    return [it for content in contents for it in content if it["type"] == "tool_result"]


def reply(request: dict[str, Any]) -> list[dict[str, Any]]:
    """Returns the events of the reply: the next call of the script, or its end."""
    calls = script([it["name"] for it in request["tools"]])
    done = results(request["messages"])
    for result in done:
        if result.get("is_error"):
            raise ValueError(f"a call failed: {result}")
    if len(done) < len(calls):
        name, arguments = calls[len(done)]
        block = {"type": "tool_use", "id": f"toolu_{next(ids)}", "name": name, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(arguments)}
        reason = "tool_use"
    else:
        block = {"type": "text", "text": ""}
        delta = {"type": "text_delta", "text": "Done."}
        reason = "end_turn"
    message = {"id": f"msg_{next(ids)}", "type": "message", "role": "assistant", "content": []}
    message |= {"model": request["model"], "stop_reason": None, "stop_sequence": None}
    message["usage"] = {"input_tokens": 1, "output_tokens": 1}
    end = {"stop_reason": reason, "stop_sequence": None}
    return [
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": end, "usage": {"output_tokens": 1}},
        {"type": "message_stop"},
    ]


class Messages(BaseHTTPRequestHandler):
    """Answers `POST /v1/messages` with a stream, and anything else with 404."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if not self.path.startswith("/v1/messages?") or not request.get("stream"):
            return self.do_GET()
        try:
            events = reply(request)
        except ValueError as error:
            print(error, file=sys.stderr, flush=True)
            return self.send(400, "application/json", failure(str(error)))
        lines = [f"event: {it['type']}\ndata: {json.dumps(it)}\n\n" for it in events]
        return self.send(200, "text/event-stream", "".join(lines))

    def do_GET(self) -> None:
        self.send(404, "application/json", failure(f"no {self.path}"))

    def send(self, status: int, kind: str, text: str) -> None:
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: Any) -> None:
        """Logs nothing."""


def failure(message: str) -> str:
    error = {"type": "invalid_request_error", "message": message}
    return json.dumps({"type": "error", "error": error})


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", 0), Messages)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as folder:
        variables = {
            "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{server.server_port}",
            "ANTHROPIC_API_KEY": "scripted",
            # Claude Code calls nothing but the model: no telemetry, no updates.
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "CLAUDE_CODE_TMPDIR": folder,
            "HOME": folder,
            "TMPDIR": folder,
        }
        program = subprocess.run([sys.executable, *sys.argv[1:]], env=os.environ | variables)
    sys.exit(program.returncode)
