"""The three actions of the tool `proxy`, with the official Python SDK (pip install mcp).

    mcpproxy serve --demo
    python examples/proxy.py
    python examples/proxy.py http://127.0.0.1:8080/mcp/proxy github__get_me '{}'
"""

import asyncio
import json
import sys

from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client


async def proxy(session: ClientSession, **arguments) -> list[dict]:
    """The items of the answer, as JSON."""
    result = await session.call_tool("proxy", arguments)
    answer = result.model_dump(by_alias=True, mode="json", exclude_none=True)
    if answer.get("isError"):
        sys.exit(answer["content"][0]["text"])
    return answer["content"]


async def query(session: ClientSession, **arguments):
    """The answer to `list` or `info`: JSON in one embedded resource."""
    [item] = await proxy(session, **arguments)
    return json.loads(item["resource"]["text"])


async def main(url: str, path: str, args: dict) -> None:
    async with streamable_http_client(url) as streams, ClientSession(streams[0], streams[1]) as session:
        await session.initialize()
        for kind in ("tool", "resource", "prompt"):
            things = await query(session, action="list", type=kind)
            names = [thing.get("uri") or thing.get("uriTemplate") or thing["name"] for thing in things]
            print(f"{kind}s: {', '.join(names) or 'none'}")
        definition = await query(session, action="info", type="tool", path=path)
        print(f"{path}: {definition['description']}")
        for item in await proxy(session, action="call", type="tool", path=path, args=args):
            print(json.dumps(item, ensure_ascii=False))


if __name__ == "__main__":
    given = sys.argv[1:]
    url = given[0] if given else "http://127.0.0.1:8080/mcp/proxy"
    path = given[1] if len(given) > 1 else "demo__add"
    args = json.loads(given[2]) if len(given) > 2 else {"a": 5, "b": 3}
    asyncio.run(main(url, path, args))
