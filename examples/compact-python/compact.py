"""Compacts a transcript in this process, and prints the result.

    python3 compact.py TRANSCRIPT [TARGET_TOKENS]

The transcript has one JSON object per line, with `role` and `content`. SHARED_CONTEXT_PURE names
the component; it is ../../target/component/shared-context-pure.wasm otherwise.
"""

import json
import os
import sys
import time
from pathlib import Path

from wasmtime import Engine, Store
from wasmtime.component import Component, Linker

HERE = Path(__file__).resolve().parent
COMPONENT = HERE / "../../target/component/shared-context-pure.wasm"
KINDS = {"user": "user_message", "system": "system_prompt", "tool": "tool_result"}


class Rejected(Exception):
    """A rejected request: its code, and what to do next."""


class Context:
    """An instance of the component. It imports nothing, so nothing has to be given to it."""

    def __init__(self, path):
        engine = Engine()
        component = Component.from_file(engine, str(path))
        self.store = Store(engine)
        self.instance = Linker(engine).instantiate(self.store, component)
        self.pure = self.instance.get_export_index(
            self.store, "shared-context:context/pure@0.1.0"
        )

    def call(self, name, request, *arguments):
        """Calls a function of the component, and returns its reply."""
        index = self.instance.get_export_index(self.store, name, self.pure)
        function = self.instance.get_func(self.store, index)
        reply = function(self.store, json.dumps(request), *arguments)
        function.post_return(self.store)
        if not isinstance(reply, str):
            raise Rejected(f"{reply.code}: {reply.message}")
        return json.loads(reply)


def items(lines):
    """Returns the lines of a transcript as items."""
    turns = [json.loads(line) for line in lines if line.strip()]
    return [
        {
            "id": f"turn-{number}",
            "kind": KINDS.get(turn["role"], "session_history"),
            "text": turn["content"],
        }
        for number, turn in enumerate(turns, 1)
    ]


def main(transcript, target_tokens="400"):
    context = Context(os.environ.get("SHARED_CONTEXT_PURE", COMPONENT))
    conversation = items(Path(transcript).read_text(encoding="utf-8").splitlines())
    request = {"items": conversation, "target_tokens": int(target_tokens)}
    started = time.perf_counter()
    reply = context.call("compact", request)
    took = time.perf_counter() - started
    texts = {item["id"]: item["text"] for item in conversation}
    for item in reply["items"]:
        # What is kept whole comes without its text.
        line = {"id": item["id"], "text": item.get("text", texts.get(item["id"]))}
        print(json.dumps(line, ensure_ascii=False, separators=(",", ":")))
    tokens = f"{reply['before']['tokens']} to {reply['after']['tokens']} tokens"
    print(f"{len(conversation)} turns, {tokens}, in {took * 1000:.0f} ms", file=sys.stderr)


if __name__ == "__main__":
    main(*sys.argv[1:])
