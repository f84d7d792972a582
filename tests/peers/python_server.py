"""A server made with the official Python SDK, which speaks both eras. Usage: python_server.py [PORT]; without a port on its pipes."""

import sys
from typing import Annotated

from mcp.server.mcpserver import Elicit, MCPServer, Resolve, Sample
from mcp.types import CreateMessageResult, SamplingMessage, TextContent, ToolAnnotations
from pydantic import BaseModel

READS = ToolAnnotations(readOnlyHint=True)
server = MCPServer("python", instructions="Greets.")


class Person(BaseModel):
    name: str


class Greeting(BaseModel):
    text: str


def person() -> Elicit[Person]:
    return Elicit("Who are you?", Person)


def poem() -> Sample:
    return Sample([SamplingMessage(role="user", content=TextContent(type="text", text="A poem, please."))], max_tokens=9)


@server.tool(annotations=READS)
def greet(name: str) -> Greeting:
    """Greets somebody."""
    return Greeting(text=f"Hello, {name}!")


@server.tool(annotations=READS)
def ask(person: Annotated[Person, Resolve(person)]) -> str:
    """Asks who is there."""
    return f"Hello, {person.name}!"


@server.tool(annotations=READS)
def write(poem: Annotated[CreateMessageResult, Resolve(poem)]) -> str:
    """Has the client's model write something."""
    return f"It said: {poem.content.text}"


match sys.argv[1:]:
    case [port]:
        server.run("streamable-http", port=int(port))
    case _:
        server.run("stdio")
