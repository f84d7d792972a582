"""What generated requests must not do to the machine that they are tried on (run a command, wait for long), and what counts as a fault."""

import schemathesis

COMMANDS = {"command", "args", "cwd", "working_dir", "isolation", "env", "url", "headers"}

KNOWN = ["demo", "switched-off", "held"]

# Codes of answers that say a server behind the daemon did not answer: entries of a generated request lead nowhere.
OF_SERVERS = {"server_unavailable", "connection_lost", "timed_out", "bad_upstream_answer"}


@schemathesis.check
def no_fault_of_the_daemon(ctx, response, case):
    """No 5xx, except a 502 or 504 by which the daemon says that a server did not answer."""
    if response.status_code < 500:
        return
    if response.status_code in (502, 504) and response.json().get("code") in OF_SERVERS:
        return
    raise AssertionError(f"{response.status_code}: {response.text[:500]}")


@schemathesis.hook
def map_body(ctx, body):
    """Entries that are added lead nowhere (port 9 of this machine refuses connections), and where a server is stays as it is."""
    if not isinstance(body, dict):
        return body
    path = ctx.operation.path
    if path in ("/api/v1/servers", "/api/v1/servers/{name}", "/api/v1/trial"):
        body = {key: value for key, value in body.items() if key not in COMMANDS}
    if path in ("/api/v1/servers", "/api/v1/trial"):
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
    if isinstance(name, str) and ctx.operation.path.startswith("/api/v1/servers/"):
        if ctx.operation.method.upper() != "DELETE" and len(name) % 2 == 0:
            parameters["name"] = KNOWN[len(name) // 2 % len(KNOWN)]
    return parameters
