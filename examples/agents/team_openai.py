"""A team of three with the OpenAI Agents SDK: an orchestrator and two subagents, each with its own
credential. `script` stands for a model: for one of OpenAI's, leave out `model=`.

    pip install openai-agents
    SHARED_CONTEXT_URL=http://127.0.0.1:8787 SHARED_CONTEXT_TOKEN=... python3 team_openai.py
"""

import asyncio
import os

from agents import Agent, Runner, set_tracing_disabled
from agents.mcp import MCPServerStreamableHttp
from agents.testing import ScriptedModel, assistant_message, function_call

SERVER = os.environ["SHARED_CONTEXT_URL"]


def connect(credential):
    """Connects one member of the team. Its credential says who it is."""
    headers = {"Authorization": f"Bearer {credential}"}
    return MCPServerStreamableHttp(
        params={"url": f"{SERVER}/mcp", "headers": headers},
        client_session_timeout_seconds=90,  # context_changes waits for up to 60 seconds
    )


def script(*calls):
    """Stands for a model: makes these calls one after the other, and ends."""
    calls = [[function_call(*call, call_id=f"call-{n}")] for n, call in enumerate(calls)]
    return ScriptedModel([*calls, [assistant_message("Done.")]])


async def run(name, memory, task, model):
    """Runs one agent. The prompt of the server tells it how to use the working memory."""
    prompt = await memory.get_prompt("shared_context")
    instructions = prompt.messages[0].content.text
    agent = Agent(name=name, instructions=instructions, model=model, mcp_servers=[memory])
    await Runner.run(agent, task)


async def work(task, credential):
    """Runs a subagent: it reads what it needs, and writes what it concluded."""
    findings = {"key": f"{task}_findings", "value": "The connection pool is too small."}
    model = script(("context_read", {"keys": ["problem_summary"]}), ("context_write", findings))
    async with connect(credential) as memory:
        await run(task, memory, f"Do the {task} of the problem.", model)


async def main():
    set_tracing_disabled(True)  # Traces are sent to OpenAI, with the arguments of every call.
    async with connect(os.environ["SHARED_CONTEXT_TOKEN"]) as memory:
        problem = {"key": "problem_summary", "value": "It is slow."}
        model = script(("context_write", problem))
        await run("orchestrator", memory, "Write down the problem: it is slow.", model)
        subagents = []
        for task in ("analysis", "review"):
            arguments = {"action": "add_subagent", "task": task}
            added = await memory.call_tool("context_session", arguments)
            subagents.append(work(task, added.structured_content["credential"]))
        await asyncio.gather(*subagents)
        listed = await memory.call_tool("context_list", {})
        for entry in listed.structured_content["keys"]:
            print(f"{entry['key']}: written by {entry['written_by']}")


asyncio.run(main())
