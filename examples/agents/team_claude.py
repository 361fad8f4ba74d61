"""A team of three with the Claude Agent SDK: an orchestrator and two subagents, each with its own
credential.

    pip install claude-agent-sdk
    export SHARED_CONTEXT_URL=http://127.0.0.1:8787 SHARED_CONTEXT_SESSION=ticket-7
    SHARED_CONTEXT_TOKEN=... ANTHROPIC_API_KEY=... python3 team_claude.py
"""

import asyncio
import json
import os
from urllib.request import Request, urlopen

from claude_agent_sdk import AgentDefinition, ClaudeAgentOptions, ResultMessage, query

SERVER = os.environ["SHARED_CONTEXT_URL"]
SESSION = f"{SERVER}/v1/sessions/{os.environ['SHARED_CONTEXT_SESSION']}"
TOKEN = os.environ["SHARED_CONTEXT_TOKEN"]
TASKS = ("analysis", "review")


def post(route, body):
    """Sends a request as the orchestrator."""
    headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
    with urlopen(Request(f"{SESSION}/{route}", json.dumps(body).encode(), headers)) as reply:
        return json.load(reply)


def connection(credential):
    """Connects one member of the team. Its credential says who it is."""
    headers = {"Authorization": f"Bearer {credential}"}
    return {"type": "http", "url": f"{SERVER}/mcp", "headers": headers}


def subagent(task):
    """Defines a subagent with a connection of its own, and no other tools."""
    minted = post("credentials", {"participant": f"subagent:{task}"})
    return AgentDefinition(
        description=f"Does the {task} of the problem.",
        prompt=f"Read problem_summary, and write your conclusion to {task}_findings.",
        tools=[f"mcp__{task}"],
        mcpServers=[{task: connection(minted["credential"])}],
    )


async def main():
    options = ClaudeAgentOptions(
        # Stands on a command line: Claude Code puts the variable in.
        mcp_servers={"orchestrator": connection("${SHARED_CONTEXT_TOKEN}")},
        agents={task: subagent(task) for task in TASKS},
        tools=["Agent"],
        allowed_tools=["Agent", "mcp__orchestrator", *(f"mcp__{task}" for task in TASKS)],
        strict_mcp_config=True,
        setting_sources=[],
    )
    prompt = "Write to problem_summary: It is slow. Then have the analysis and the review done."
    async for message in query(prompt=prompt, options=options):
        if isinstance(message, ResultMessage) and message.is_error:
            raise RuntimeError(message.result)
    for entry in post("shared_context", {"action": "list_keys"})["keys"]:
        print(f"{entry['key']}: written by {entry['written_by']}")


asyncio.run(main())
