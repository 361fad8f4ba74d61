"""Work that one agent hands over to another, with the official Python client:

    python3 handoffs.py VERSION

SHARED_CONTEXT_URL is the URL of the server, SHARED_CONTEXT_TOKEN the credential of the orchestrator
of a session that names a project. GIVER_TOKEN and RECEIVER_TOKEN are those of two agents of it.
"""

import os
import re
import sys
import warnings

import anyio

from checks import check, verify
from participant import Participant

(VERSION,) = sys.argv[1:]
CONNECTION = {
    "version": VERSION,
    "server": os.environ["SHARED_CONTEXT_URL"],
    "program": None,
    "query": "?tools=outline",
}


async def run() -> None:
    giver = await Participant.connect(CONNECTION, os.environ["GIVER_TOKEN"])
    written = await giver.use_tool(
        "outline", action="put_section", marker="3.1", title="Refunds", content="One an order."
    )
    verify("who writes a section owns it", "exclusive", written["lease"]["ownership"])
    offered = await giver.use_tool(
        "handoffs",
        action="offer_handoff",
        to_agent="subagent:receiver",
        handoff_type="complete",
        summary="Login works; refunds are next.",
        sections=["3.1"],
        completed=["Login"],
        immediate=["Store refunds"],
        known_pitfalls=["Never refund twice."],
    )
    handoff = offered["handoff"]["handoff_id"]
    verify("it offers its work", "offered", offered["handoff"]["state"])

    receiver = await Participant.connect(CONNECTION, os.environ["RECEIVER_TOKEN"])
    listed = await receiver.use_tool("handoffs", action="list_handoffs")
    verify("the receiver finds it", handoff, listed["handoffs"][0]["handoff_id"])
    read = await receiver.use_tool("handoffs", action="read_handoff", id=handoff)
    package = read["package"]
    pitfalls = package["agent_specific_notes"]["known_pitfalls"]
    verify("reads what to avoid", ["Never refund twice."], pitfalls)
    verify("and what comes next", ["Store refunds"], package["next_actions"]["immediate"])
    accepted = await receiver.use_tool("handoffs", action="accept_handoff", id=handoff)
    verify("accepts", "accepted", accepted["handoff"]["state"])
    written = await receiver.use_tool(
        "outline", action="put_section", marker="3.1", content="One an order, by its id."
    )
    verify("and goes on", 2, written["version"])
    index = await receiver.use_tool("outline", action="read_index")
    verify("the index has the section", re.compile("§3.1"), index["text"])
    await check("the receiver completes", None, receiver.leave)

    orchestrator = await Participant.connect(CONNECTION, os.environ["SHARED_CONTEXT_TOKEN"])
    taken = await orchestrator.use_tool(
        "handoffs_manage",
        action="take_over",
        from_agent="subagent:receiver",
        to_agent="subagent:giver",
        sections=["3.1"],
    )
    verify("the orchestrator takes over", "emergency", taken["handoff"]["handoff_type"])
    checked = await orchestrator.use_tool("outline_manage", action="check_outline")
    verify("and checks the outline", True, isinstance(checked["findings"], list))
    await check("the orchestrator completes", None, orchestrator.leave)
    written = await giver.use_tool(
        "outline", action="put_section", marker="3.1", content="One an order, in 14 days."
    )
    verify("the first agent owns it again", 3, written["version"])
    await check("the first agent completes", None, giver.leave)


# The client marks features of the legacy protocol as deprecated.
warnings.simplefilter("ignore")
anyio.run(run)
