"""A team of three with LangGraph: an orchestrator and two subagents, each with its own credential.
`Script` stands for a chat model: put one of LangChain's in its place.

    pip install langgraph langchain-mcp-adapters
    SHARED_CONTEXT_URL=http://127.0.0.1:8787 SHARED_CONTEXT_TOKEN=... python3 team_langgraph.py
"""

import asyncio
import os

from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, SystemMessage
from langchain_mcp_adapters.client import MultiServerMCPClient
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition

SERVER = os.environ["SHARED_CONTEXT_URL"]


def connect(credential):
    """Connects one member of the team. Its credential says who it is."""
    headers = {"Authorization": f"Bearer {credential}"}
    memory = {"transport": "streamable_http", "url": f"{SERVER}/mcp", "headers": headers}
    return MultiServerMCPClient({"memory": memory})


class Script(GenericFakeChatModel):
    """Stands for a chat model: makes these calls one after the other, and ends."""

    def __init__(self, *calls):
        calls = [{"name": name, "args": args, "id": name} for name, args in calls]
        messages = [AIMessage(content="", tool_calls=[call]) for call in calls]
        super().__init__(messages=iter([*messages, AIMessage("Done.")]))

    def bind_tools(self, tools, **kwargs):
        return self


async def run(client, task, model):
    """Runs one agent. The prompt of the server tells it how to use the working memory."""
    tools = await client.get_tools()
    instructions = await client.get_prompt("memory", "shared_context")
    model = model.bind_tools(tools)

    async def think(state):
        return {"messages": [await model.ainvoke(instructions + state["messages"])]}

    graph = StateGraph(MessagesState).add_node("model", think).add_node(ToolNode(tools))
    graph.add_edge(START, "model").add_edge("tools", "model")
    graph.add_conditional_edges("model", tools_condition)
    await graph.compile().ainvoke({"messages": [("user", task)]})


async def work(task, credential):
    """Runs a subagent: it reads what it needs, and writes what it concluded."""
    findings = {"key": f"{task}_findings", "value": "The connection pool is too small."}
    model = Script(("context_read", {"keys": ["problem_summary"]}), ("context_write", findings))
    await run(connect(credential), f"Do the {task} of the problem.", model)


async def main():
    client = connect(os.environ["SHARED_CONTEXT_TOKEN"])
    problem = {"key": "problem_summary", "value": "It is slow."}
    model = Script(("context_write", problem))
    await run(client, "Write down the problem: it is slow.", model)
    async with client.session("memory") as memory:
        subagents = []
        for task in ("analysis", "review"):
            arguments = {"action": "add_subagent", "task": task}
            added = await memory.call_tool("context_session", arguments)
            subagents.append(work(task, added.structuredContent["credential"]))
        await asyncio.gather(*subagents)
        listed = await memory.call_tool("context_list")
        for entry in listed.structuredContent["keys"]:
            print(f"{entry['key']}: written by {entry['written_by']}")


asyncio.run(main())
