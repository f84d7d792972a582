"""What generated requests must not do to the machine that they are tried on: run a command, or wait for long."""

import schemathesis

COMMANDS = {"command", "args", "cwd", "working_dir", "isolation", "env", "url", "headers"}


@schemathesis.hook
def map_body(ctx, body):
    """Entries lead nowhere: port 9 of this machine refuses connections."""
    if not isinstance(body, dict):
        return body
    path = ctx.operation.path
    if path == "/api/v1/servers" or (path == "/api/v1/servers/{name}" and COMMANDS & body.keys()):
        body = {key: value for key, value in body.items() if key not in COMMANDS}
        body["url"] = "http://127.0.0.1:9/mcp"
    return body


@schemathesis.hook
def map_query(ctx, query):
    """Nothing is waited for."""
    if isinstance(query, dict) and isinstance(query.get("wait"), int):
        query["wait"] = 0
    return query


@schemathesis.hook("map_path_parameters")
def some_clients(ctx, parameters):
    """Of the clients that there are some are asked for, too."""
    client = parameters.get("client") if isinstance(parameters, dict) else None
    if isinstance(client, str) and len(client) % 2 == 0:
        parameters["client"] = ["cursor", "codex", "goose"][len(client) // 2 % 3]
    return parameters


@schemathesis.hook
def map_path_parameters(ctx, parameters):
    """Of the names that there are some are asked for, too."""
    name = parameters.get("name") if isinstance(parameters, dict) else None
    known = ["demo", "switched-off", "held"]
    if isinstance(name, str) and ctx.operation.path.startswith("/api/v1/servers/"):
        if ctx.operation.method.upper() != "DELETE" and len(name) % 2 == 0:
            parameters["name"] = known[len(name) // 2 % len(known)]
    return parameters
