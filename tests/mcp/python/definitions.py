"""Checks that the providers' packages accept the tool definitions of /v1/tools unchanged, and
that calls that the schemas allow are done.

SHARED_CONTEXT_URL is the URL of the server, SHARED_CONTEXT_TOKEN the credential of a session's
orchestrator.
"""

import copy
import json
import os
import urllib.request
from typing import Any

import anyio
import mcp_types
from anthropic.lib._parse._transform import transform_schema
from anthropic.types import ToolParam
from jsonschema import Draft202012Validator
from openai.lib._parsing._completions import validate_input_tools
from openai.lib._pydantic import _ensure_strict_json_schema
from openai.types.chat import ChatCompletionFunctionToolParam
from pydantic import ConfigDict, TypeAdapter

from checks import verify
from participant import Participant

SERVER = os.environ["SHARED_CONTEXT_URL"]


def definitions(form: str) -> list[dict[str, Any]]:
    """Returns the tools in the format `form`."""
    with urllib.request.urlopen(f"{SERVER}/v1/tools?format={form}") as answer:
        return json.load(answer)["tools"]


def validate(kind: Any, value: Any) -> Any:
    """Validates `value` with the package's own type, which rejects unknown members."""
    kind.__pydantic_config__ = ConfigDict(extra="forbid")
    return TypeAdapter(kind).validate_python(value)


def is_schema(what: str, schema: dict[str, Any]) -> None:
    """Validates `schema` with the meta-schema of JSON Schema 2020-12."""
    faults = [
        it.message
        for it in Draft202012Validator(Draft202012Validator.META_SCHEMA).iter_errors(schema)
    ]
    verify(f"{what} is a JSON Schema", [], faults)


def openai() -> None:
    tools = definitions("openai")
    names = [tool["function"]["name"] for tool in tools]
    verify("openai: there is the tool", ["shared_context"], names)
    verify("openai: its strict mode accepts the tools", tools, list(validate_input_tools(tools)))
    for tool in tools:
        name, schema = tool["function"]["name"], tool["function"]["parameters"]
        verify(f"openai: {name} is a tool", tool, validate(ChatCompletionFunctionToolParam, tool))
        is_schema(f"openai: {name}", schema)
        strict = copy.deepcopy(schema)
        strict = _ensure_strict_json_schema(strict, path=(), root=strict)
        verify(f"openai: {name} is strict as it is", strict, schema)


def anthropic() -> None:
    tools = definitions("anthropic")
    verify("anthropic: there is the tool", ["shared_context"], [tool["name"] for tool in tools])
    for tool in tools:
        name, schema = tool["name"], tool["input_schema"]
        verify(f"anthropic: {name} is a tool", tool, validate(ToolParam, tool))
        verify(f"anthropic: {name} asks for strict mode", True, tool.get("strict"))
        is_schema(f"anthropic: {name}", schema)
        verify(
            f"anthropic: {name} is strict as it is",
            transform_schema(copy.deepcopy(schema)),
            without_types_of_enums(schema),
        )


def without_types_of_enums(schema: Any) -> Any:
    """Removes the types of enumerations, which the package omits as redundant."""
    if isinstance(schema, list):
        return [without_types_of_enums(it) for it in schema]
    if not isinstance(schema, dict):
        return schema
    is_enum = isinstance(schema.get("enum"), list)
    left = {name: it for name, it in schema.items() if not (is_enum and name == "type")}
    return {name: without_types_of_enums(it) for name, it in left.items()}


def mcp() -> None:
    tools = definitions("mcp")
    verify(
        "mcp: there are all tools",
        [
            *(f"context_{name}" for name in ["list", "read", "changes", "write", "delete"]),
            "context_session",
            *(f"delta_rounds_{name}" for name in ["read", "propose", "manage"]),
            *(f"context_packets{name}" for name in ["", "_manage"]),
            *(f"memories{name}" for name in ["", "_manage"]),
            *(f"outline{name}" for name in ["", "_manage"]),
            *(f"handoffs{name}" for name in ["", "_manage"]),
        ],
        [tool["name"] for tool in tools],
    )
    for tool in tools:
        name = tool["name"]
        read = mcp_types.Tool.model_validate(tool)
        verify(
            f"mcp: {name} is a tool",
            tool,
            read.model_dump(mode="json", by_alias=True, exclude_unset=True),
        )
        is_schema(f"mcp: arguments of {name}", tool["inputSchema"])


async def results() -> None:
    """Calls the tools with arguments that their schemas allow."""
    connection = {
        "version": "2026-07-28",
        "server": SERVER,
        "program": None,
        "query": "?tools=delta_rounds,context_packets",
    }
    participant = await Participant.connect(connection, os.environ["SHARED_CONTEXT_TOKEN"])
    tools = {tool.name: tool for tool in await participant.tools()}
    subagent = {"task": "review", "id": "1", "ttl_seconds": 60, "keys": ["findings_*"]}
    weights = [{"participant": "subagent:legal*", "weight": 0.8}]
    bind = {"operation": "add", "path": "$.bindings.customer", "value": "sea:customer:001"}
    rule = {"operation": "add", "path": "$.rules", "value": {"holds": None}}
    packet = {"task": "Open a port", "facts": {"decisions": [{"choice": "port 8080"}]}}
    patch = {"patch": {"context": {"constraints": ["no other port"]}}}
    deltas = [{**it, "provenance": "seen in the contract"} for it in (bind, rule)]
    for name, arguments, is_rejection in [
        ("context_write", {"key": "scope", "value": "x"}, False),
        ("context_list", {}, False),
        ("context_read", {"keys": ["scope", "gone"]}, False),
        ("context_changes", {"since": 1, "wait_seconds": 1, "except_own": True}, False),
        ("context_session", {"action": "snapshot", "label": "first"}, False),
        ("context_session", {"action": "read_history", "key": "scope"}, False),
        ("context_session", {"action": "add_subagent", **subagent}, False),
        ("context_session", {"action": "add_subagent", "task": "no task"}, True),
        ("context_delete", {"key": "scope"}, False),
        ("context_delete", {"key": "scope"}, True),
        ("context_write", {"key": "Not A Key", "value": "x"}, True),
        ("delta_rounds_manage", {"action": "open_round", "weights": weights}, False),
        ("delta_rounds_propose", {"action": "propose_deltas", "deltas": deltas}, False),
        ("delta_rounds_propose", {"action": "withdraw_deltas", "sequences": [2]}, False),
        (
            "delta_rounds_read",
            {"action": "read_deltas", "path": "$.bindings.customer"},
            False,
        ),
        ("delta_rounds_manage", {"action": "close_round", "clip": "reject"}, False),
        ("delta_rounds_read", {"action": "read_state", "round": 1}, False),
        ("delta_rounds_read", {"action": "convergence"}, False),
        ("delta_rounds_manage", {"action": "close_round"}, True),
        ("context_packets_manage", {"action": "context_generate", **packet}, False),
        ("context_packets_manage", {"action": "context_edit", "address": "shared", **patch}, False),
        ("context_packets_manage", {"action": "list_packets"}, False),
        ("context_packets", {"action": "context_read", "layer": "history"}, False),
        ("context_packets", {"action": "context_query", "question": "Which port?"}, False),
        ("context_packets", {"action": "context_feedback", "outcome": "done"}, False),
        ("context_packets", {"action": "context_feedback", "outcome": "done"}, True),
        ("context_packets_manage", {"action": "context_stats"}, False),
        ("context_packets_manage", {"action": "context_clear", "address": "shared"}, False),
    ]:
        tool, what = tools[name], f"{name} {json.dumps(arguments)}"
        verify(f"{what} is allowed", [], faults(tool.input_schema, arguments))
        is_error, reply = await participant.call(name, arguments)
        verify(
            f"{what} is {'rejected' if is_rejection else 'done'}",
            (is_rejection, "error" in reply),
            (is_error, is_rejection),
        )
    await participant.leave()


def faults(schema: dict[str, Any], value: Any) -> list[str]:
    return [it.message for it in Draft202012Validator(schema).iter_errors(value)]


openai()
anthropic()
mcp()
anyio.run(results)
