"""FastMCP's client. Usage: fastmcp_client.py VISIT, as typescript_client.mjs takes it; prints what it saw as JSON."""

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


async def main(visit: dict):
    async with Client(transport(visit["target"]), mode=visit["mode"]) as client:
        saw = {"tools": [tool.name for tool in await client.list_tools()], "answers": []}
        for call in visit["calls"]:
            result = await client.call_tool_mcp(call["name"], call["arguments"])
            saw["answers"].append(result.model_dump(by_alias=True, mode="json", exclude_none=True))
    print(json.dumps(saw))


asyncio.run(main(json.loads(sys.argv[1])))
