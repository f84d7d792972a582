"""FastMCP's client: takes visits on its standard input as typescript_client.mjs does, and prints what it saw."""

import asyncio
import json
import sys

from fastmcp import Client
from fastmcp.client.transports import SSETransport, StdioTransport, StreamableHttpTransport


def transport(target: dict):
    match target["transport"]:
        case "http":
            return StreamableHttpTransport(target["url"])
        case "sse":
            return SSETransport(target["url"])
        case "stdio":
            return StdioTransport(target["command"], target["args"], keep_alive=False)


async def visited(visit: dict) -> dict:
    asked = []

    async def fill_in(message, response_type, params, context):
        asked.append(message)
        return visit["replies"]["form"]

    async def say(messages, params, context):
        asked.append(messages[0].content.text)
        return visit["replies"]["text"]

    handlers = {"elicitation_handler": fill_in, "sampling_handler": say} if "replies" in visit else {}
    async with Client(transport(visit["target"]), mode=visit["mode"], **handlers) as client:
        saw = {"tools": [tool.name for tool in await client.list_tools()], "answers": [], "asked": asked}
        for call in visit["calls"]:
            result = await client.call_tool_mcp(call["name"], call["arguments"])
            saw["answers"].append(result.model_dump(by_alias=True, mode="json", exclude_none=True))
    return saw


for line in sys.stdin:
    print(json.dumps(asyncio.run(visited(json.loads(line)))), flush=True)
