"""A team of three over MCP with the official Python SDK: an orchestrator and two subagents, each
with its own credential. No model is called: `work` stands for one.

    pip install mcp
    SHARED_CONTEXT_URL=http://127.0.0.1:8787 SHARED_CONTEXT_TOKEN=... python3 team.py
"""

import os
from contextlib import asynccontextmanager

import anyio
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

SERVER = os.environ["SHARED_CONTEXT_URL"]


@asynccontextmanager
async def member(credential):
    """Connects one member of the team. Its credential says who it is."""
    async with create_mcp_http_client(headers={"Authorization": f"Bearer {credential}"}) as http:
        async with Client(streamable_http_client(f"{SERVER}/mcp", http_client=http)) as client:
            yield client


async def call(client, tool, **arguments):
    result = await client.call_tool(tool, arguments)
    if result.is_error:
        raise RuntimeError(result.content[0].text)
    return result.structured_content


async def work(task, credential):
    """Stands for a subagent: reads what it needs, and writes what it concluded."""
    async with member(credential) as client:
        known = await call(client, "context_read", keys=["problem_summary"])
        problem = known["entries"][0]["value"]
        await call(client, "context_write", key=f"{task}_findings", value=f"{task}: {problem}")


async def main():
    async with member(os.environ["SHARED_CONTEXT_TOKEN"]) as orchestrator:
        await call(orchestrator, "context_write", key="problem_summary", value="It is slow.")
        for task in ("analysis", "review"):
            added = await call(orchestrator, "context_session", action="add_subagent", task=task)
            await work(task, added["credential"])
        listed = await call(orchestrator, "context_list")
        for entry in listed["keys"]:
            print(f"{entry['key']}: written by {entry['written_by']}")


anyio.run(main)
