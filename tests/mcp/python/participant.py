"""A participant of a session that uses only the official client.

This module hides the differences between protocol versions and transports from the cycle.
"""

from contextlib import AsyncExitStack
from typing import Any

import anyio
import mcp_types as types
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp.shared.subscriptions import ResourceUpdated

MODERN = "2026-07-28"
NOTIFICATION_MAX = 15
"""Timeout of a notification, in seconds."""


class Participant:
    def __init__(self) -> None:
        self._stack = AsyncExitStack()
        self._subscribing = AsyncExitStack()
        self._subscription = None
        self._updated: list[str] = []
        self._notified = anyio.Event()

    @classmethod
    async def connect(cls, connection: dict[str, Any], credential: str) -> "Participant":
        """Connects with `credential`. `connection` has `version`, `server`, for stdio `program`."""
        self = cls()
        if connection["program"]:
            env = {"SHARED_CONTEXT_URL": connection["server"], "SHARED_CONTEXT_TOKEN": credential}
            server = StdioServerParameters(command=connection["program"], args=["mcp"], env=env)
        else:
            headers = {"Authorization": f"Bearer {credential}"}
            http = await self._stack.enter_async_context(create_mcp_http_client(headers=headers))
            server = streamable_http_client(
                f"{connection['server']}/mcp{connection.get('query', '')}", http_client=http
            )
        # `auto` discovers the versions of the server; `legacy` is 2025-11-25.
        mode = "auto" if connection["version"] == MODERN else "legacy"
        client = Client(server, mode=mode, message_handler=self._receive, read_timeout_seconds=30)
        self._client = await self._stack.enter_async_context(client)
        return self

    async def _receive(self, message: Any) -> None:
        notification = getattr(message, "root", message)
        if isinstance(notification, types.ResourceUpdatedNotification):
            self._updated.append(str(notification.params.uri))
            self._notified.set()

    @property
    def version(self) -> str:
        return self._client.protocol_version

    @property
    def server(self) -> str | None:
        info = self._client.server_info
        return info and info.name

    async def tools(self) -> list[types.Tool]:
        return (await self._client.list_tools()).tools

    async def call(self, name: str, arguments: dict[str, Any]) -> tuple[bool, dict[str, Any]]:
        """Calls a tool, which must reply in text and in data."""
        result = await self._client.call_tool(name, arguments)
        if not result.content[0].text or not isinstance(result.structured_content, dict):
            raise AssertionError(f"text or data is missing: {result}")
        return result.is_error or False, result.structured_content

    async def use_tool(self, name: str, **arguments: Any) -> dict[str, Any]:
        """Calls a tool. It must succeed."""
        is_error, reply = await self.call(name, arguments)
        if is_error:
            raise AssertionError(reply)
        return reply

    async def keys(self) -> list[str]:
        return [entry["key"] for entry in (await self.use_tool("context_list"))["keys"]]

    async def read(self, key: str) -> str:
        return (await self.use_tool("context_read", keys=[key]))["entries"][0]["value"]

    async def write(self, key: str, value: str) -> str:
        return (await self.use_tool("context_write", key=key, value=value))["written_by"]

    async def resources(self) -> list[str]:
        return [str(it.uri) for it in (await self._client.list_resources()).resources]

    async def templates(self) -> list[str]:
        listed = await self._client.list_resource_templates()
        return [it.uri_template for it in listed.resource_templates]

    async def resource(self, uri: str) -> types.TextResourceContents:
        return (await self._client.read_resource(uri)).contents[0]

    async def prompts(self) -> list[str]:
        return [it.name for it in (await self._client.list_prompts()).prompts]

    async def prompt(self, name: str, arguments: dict[str, str]) -> str:
        return (await self._client.get_prompt(name, arguments)).messages[0].content.text

    async def complete(self, uri: str, name: str, value: str) -> list[str]:
        ref = types.ResourceTemplateReference(uri=uri)
        return (await self._client.complete(ref, {"name": name, "value": value})).completion.values

    def offered(self) -> tuple[Any, Any]:
        """Returns the subscription and logging capabilities of the server."""
        capabilities = self._client.server_capabilities
        return capabilities.resources.subscribe, capabilities.logging

    async def subscribe(self, uris: list[str]) -> list[str]:
        """Subscribes to `uris` and returns those that the server accepted."""
        if self.version == MODERN:
            listening = self._client.listen(
                resource_subscriptions=uris, resources_list_changed=True
            )
            self._subscription = await self._subscribing.enter_async_context(listening)
            return self._subscription.honored.resource_subscriptions
        for uri in uris:
            await self._client.subscribe_resource(uri)
        return uris

    async def unsubscribe(self, uris: list[str]) -> None:
        await self._subscribing.aclose()
        if self.version != MODERN:
            for uri in uris:
                await self._client.unsubscribe_resource(uri)

    async def wait_for_update(self, uri: str) -> str:
        """Waits for the notification that the resource `uri` changed."""
        with anyio.fail_after(NOTIFICATION_MAX):
            while uri not in self._updated:
                if self._subscription is None:
                    await self._notified.wait()
                    self._notified = anyio.Event()
                    continue
                event = await anext(self._subscription)
                if isinstance(event, ResourceUpdated):
                    self._updated.append(event.uri)
        return uri

    async def leave(self) -> None:
        """Ends the MCP session, if there is one, and disconnects."""
        await self._stack.aclose()
