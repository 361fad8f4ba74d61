"""A packet from the orchestrator to a worker and back, with the official Python client:

    python3 packets.py VERSION

SHARED_CONTEXT_URL is the URL of the server, SHARED_CONTEXT_TOKEN the credential of the orchestrator
of SESSION. HOST_KEEPS is `no` for a stateless server, which supports notifications in VERSION
2026-07-28 only.
"""

import os
import re
import sys
import warnings
from typing import Any

import anyio

from checks import check, verify
from participant import MODERN, Participant

(VERSION,) = sys.argv[1:]
SESSION = os.environ["SESSION"]
HAS_NOTIFICATIONS = VERSION == MODERN or os.environ.get("HOST_KEEPS") != "no"
CONNECTION = {
    "version": VERSION,
    "server": os.environ["SHARED_CONTEXT_URL"],
    "program": None,
    "query": "?tools=context_packets",
}
TASK = "Add JWT auth to the login endpoint"
FACTS = {
    "constraints": ["Do not modify the registration flow."],
    "decisions": [
        {"choice": "JWT signed with RS256", "reason": "other services verify it", "made_by": "user"}
    ],
    "failed_attempts": [{"approach": "JWT with PyJWT", "reason_failed": "not in requirements.txt"}],
}


async def run() -> None:
    orchestrator = await Participant.connect(CONNECTION, os.environ["SHARED_CONTEXT_TOKEN"])
    verify("the orchestrator connects in the version", VERSION, orchestrator.version)

    async def manage(action: str, **arguments: Any) -> dict[str, Any]:
        return await orchestrator.use_tool("context_packets_manage", action=action, **arguments)

    minted = await orchestrator.use_tool("context_session", action="add_subagent", task="impl")
    worker = await Participant.connect(CONNECTION, minted["credential"])
    address = minted["participant"]
    uri = f"session://{SESSION}/packets/{address}"
    names = [tool.name for tool in await worker.tools()]
    verify("the worker has its tool", True, "context_packets" in names)
    verify("it cannot write packets", False, "context_packets_manage" in names)
    if HAS_NOTIFICATIONS:
        await check("it subscribes to its packet", [uri], lambda: worker.subscribe([uri]))

    written = await manage(
        "context_generate", task=TASK, address=address, task_type="implementation", facts=FACTS
    )
    verify("the packet is written", 1, written["version"])
    verify("within its budget", True, written["tokens"] <= written["max_tokens"] == 400)
    if HAS_NOTIFICATIONS:
        await check("the worker is notified", uri, lambda: worker.wait_for_update(uri))

    async def ask(action: str, **arguments: Any) -> dict[str, Any]:
        return await worker.use_tool("context_packets", action=action, **arguments)

    read = await ask("context_read")
    verify("it reads what was written", written["checksum"], read["checksum"])
    for part in ["RS256", "other services verify it", "registration flow"]:
        verify(f"it knows of: {part}", re.compile(part), read["text"])
    verify("it is the resource, too", read["text"], (await worker.resource(uri)).text)
    verify("the history is not in it", None, re.search("PyJWT", read["text"]))
    history = await ask("context_read", layer="history")
    verify("it reads the history on demand", re.compile("PyJWT"), history["text"])

    answer = await ask("context_query", question="Which algorithm is the JWT signed with?")
    verify("it asks and is answered", re.compile("RS256"), answer["findings"][0]["text"])
    answer = await ask("context_query", question="Where is the coverage report?")
    verify("it asks in vain", [], answer["findings"])

    given = await ask(
        "context_feedback", outcome="done", gaps=["testing approach"], unused=["registration flow"]
    )
    verify("it gives feedback", ("done", address), (given["outcome"], given["given_by"]))
    verify("what it read on demand is a gap", ["history"], given["layers"])

    types = {it["task_type"]: it for it in (await manage("context_stats"))["types"]}
    own = types["implementation"]
    verify("the orchestrator sees the outcome", (1, 1.0), (own["count"], own["success_rate"]))
    gaps = [it["text"] for it in own["gaps"]]
    verify("and what was lacking", True, "testing approach" in gaps)
    await check("the worker completes", None, worker.leave)
    await check("the orchestrator completes", None, orchestrator.leave)


# The client marks features of the legacy protocol as deprecated.
warnings.simplefilter("ignore")
anyio.run(run)
