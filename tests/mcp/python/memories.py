"""What a team knows, from one session to the next, with the official Python client:

    python3 memories.py VERSION

SHARED_CONTEXT_URL is the URL of the server, SHARED_CONTEXT_TOKEN the credential of the orchestrator
of a session that names a project, LATER_TOKEN that of a later session of the project.
"""

import os
import re
import sys
import warnings
from typing import Any

import anyio

from checks import check, verify
from participant import Participant

(VERSION,) = sys.argv[1:]
CONNECTION = {
    "version": VERSION,
    "server": os.environ["SHARED_CONTEXT_URL"],
    "program": None,
    "query": "?tools=memories",
}
DECISION = {
    "memory_type": "decision",
    "title": "Sign tokens with RS256",
    "importance": 9,
    "content": {"decision": "Tokens are signed with RS256.", "rationale": "Others verify them."},
}
ISSUE = {
    "memory_type": "issue",
    "title": "Logins fail at noon",
    "content": {"description": "The pool runs dry.", "severity": "high"},
}


async def run() -> None:
    first = await Participant.connect(CONNECTION, os.environ["SHARED_CONTEXT_TOKEN"])
    added = await first.use_tool("memories", action="add_memories", memories=[DECISION, ISSUE])
    decision, issue = added["memories"]
    verify("both are new", [True, True], [decision["is_new"], issue["is_new"]])
    again = await first.use_tool("memories", action="add_memories", memories=[ISSUE])
    verify("the same words are stored once", False, again["memories"][0]["is_new"])
    await check("the first session completes", None, first.leave)

    later = await Participant.connect(CONNECTION, os.environ["LATER_TOKEN"])

    async def ask(action: str, **arguments: Any) -> dict[str, Any]:
        return await later.use_tool("memories", action=action, **arguments)

    told = await ask("rehydrate", task="Repair the login")
    for part in ["RS256", "The pool runs dry", decision["decision_id"]]:
        verify(f"the next session is told: {part}", re.compile(part), told["text"])
    found = await ask("search_memories", query="who verifies tokens")
    verify("it finds the decision", decision["memory_id"], found["memories"][0]["memory_id"])
    read = await ask("read_memories", ids=[decision["decision_id"]])
    verify("and reads why", "Others verify them.", read["memories"][0]["content"]["rationale"])
    changed = await ask("update_memory", id=issue["memory_id"], status="resolved")
    verify("it resolves the issue", 2, changed["version"])
    marked = await later.use_tool(
        "memories_manage", action="mark_memories", ids=[issue["memory_id"]], mark="archived"
    )
    verify("and archives it", [issue["memory_id"]], marked["memory_ids"])
    told = await ask("rehydrate")
    verify("nobody is told of it any more", None, re.search("The pool runs dry", told["text"]))
    await check("the later session completes", None, later.leave)


# The client marks features of the legacy protocol as deprecated.
warnings.simplefilter("ignore")
anyio.run(run)
