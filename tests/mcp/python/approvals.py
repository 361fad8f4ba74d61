"""Checks that a client that asks a person before each call, unless the tool only reads, asks for the
tools that write and delete and for no other: the OpenAI Agents SDK with a scripted model.

SHARED_CONTEXT_URL is the URL of the server, SHARED_CONTEXT_TOKEN the credential of a session's
orchestrator.
"""

import asyncio
import os

from agents import Agent, Runner, set_tracing_disabled
from agents.mcp import MCPServerStreamableHttp
from agents.testing import ScriptedModel, assistant_message, function_call

from checks import verify

CALLS = [
    ("context_list", {}),
    ("context_write", {"key": "scope", "value": "Find the cause."}),
    ("context_read", {"keys": ["scope"]}),
    ("context_changes", {"since": 0, "wait_seconds": 0}),
    ("context_delete", {"key": "scope"}),
    ("context_list", {}),
]


async def needs_approval(_context, _agent, tool):
    """Decides by the tool's own hint."""
    return not (tool.annotations and tool.annotations.read_only_hint)


async def main():
    set_tracing_disabled(True)
    calls = [[function_call(*call, call_id=f"call-{n}")] for n, call in enumerate(CALLS)]
    model = ScriptedModel([*calls, [assistant_message("Done.")]])
    memory = MCPServerStreamableHttp(
        params={
            "url": os.environ["SHARED_CONTEXT_URL"] + "/mcp",
            "headers": {"Authorization": "Bearer " + os.environ["SHARED_CONTEXT_TOKEN"]},
        },
        require_approval=needs_approval,
    )
    asked = []
    async with memory:
        agent = Agent(name="worker", model=model, mcp_servers=[memory])
        result = await Runner.run(agent, "Find the cause.")
        while result.interruptions:
            state = result.to_state()
            for one in result.interruptions:
                asked.append(one.name)
                state.approve(one)
            result = await Runner.run(agent, state)
        left = await memory.call_tool("context_list", {})
    verify("a person is asked before what changes", ["context_write", "context_delete"], asked)
    verify("every call was made", [], left.structured_content["keys"])
    verify("the run ended", "Done.", result.final_output)


asyncio.run(main())
