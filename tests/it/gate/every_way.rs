//! The ways in that the tests of this suite go, held against what there is: a built-in tool, a method or an endpoint that is added and
//! not listed here fails.

use std::{collections::BTreeSet, fs, path::Path};

/// Tools of our own that make a call, each with its `Way`.
const CALLING: [&str; 6] = [
    "call_tool",
    "call_tool_destructive",
    "call_tool_read",
    "call_tool_write",
    "code_execution",
    "proxy",
];

/// Tools of our own that only tell of tools; `no_answer_to_an_agent_has_the_text_of_what_is_held` asks each of them.
const TELLING: [&str; 3] = ["describe_tool", "quarantine_security", "retrieve_tools"];

/// Tools of our own that change what is configured; the suite `managing` says what nobody gets by them.
const MANAGING: [&str; 1] = ["upstream_servers"];

/// Reads on in what a call brought; the suite `large_results` says that nobody reads by it what may not be called.
const READING_ON: [&str; 1] = ["read_cache"];

/// Methods that name a thing of a server: `WAYS`, `THINGS` and `LISTED`. What concerns tasks is bound to the call that made them, by
/// the suite `tasks`.
const NAMING: [&str; 10] = [
    "completion/complete",
    "prompts/get",
    "resources/read",
    "resources/subscribe",
    "tasks/cancel",
    "tasks/get",
    "tasks/list",
    "tasks/result",
    "tasks/update",
    "tools/call",
];

/// Methods that list: the tests of lists.
const LISTING: [&str; 4] = [
    "prompts/list",
    "resources/list",
    "resources/templates/list",
    "tools/list",
];

/// Methods that bring nothing of a server which a gate could hold, or that servers send.
const HARMLESS: [&str; 20] = [
    "elicitation/create",
    "initialize",
    "logging/setLevel",
    "notifications/cancelled",
    "notifications/initialized",
    "notifications/message",
    "notifications/progress",
    "notifications/prompts/list_changed",
    "notifications/resources/list_changed",
    "notifications/resources/updated",
    "notifications/roots/list_changed",
    "notifications/subscriptions/acknowledged",
    "notifications/tasks",
    "notifications/tasks/status",
    "notifications/tools/list_changed",
    "ping",
    "resources/unsubscribe",
    "roots/list",
    "sampling/createMessage",
    "server/discover",
];

/// Subscribes modern clients to resources and tasks; `modern_clients` and `tasks` ask what it refuses.
const LISTENING: [&str; 1] = ["subscriptions/listen"];

/// What the addresses of MCP clients have after `/mcp`. Each mode answers every name, whatever it lists; `/mcp/all` and `/mcp/server/NAME`
/// stand for all.
const ENDPOINTS: [&str; 6] = ["/all", "/call", "/code", "/p/", "/proxy", "/server/"];

/// What else is served.
const BESIDE: [&str; 9] = [
    "/",
    "/.well-known/{*path}",
    "/mcp/.well-known/{*path}",
    "/register",
    "/ui",
    "/ui/",
    "/ui/assets/{name}",
    "/ui/login",
    "/ui/{*place}",
];

/// REST of operators; the suite `operators` says who is one. Only `call` and `code` reach a tool.
const REST: [&str; 59] = [
    "/api/v1/access/callers",
    "/api/v1/access/check",
    "/api/v1/activity",
    "/api/v1/activity/export",
    "/api/v1/activity/figures",
    "/api/v1/activity/stream",
    "/api/v1/activity/{id}",
    "/api/v1/additions",
    "/api/v1/call",
    "/api/v1/changes",
    "/api/v1/clients",
    "/api/v1/clients/{client}/connect",
    "/api/v1/clients/{client}/disconnect",
    "/api/v1/clients/{client}/move",
    "/api/v1/clients/{client}/token",
    "/api/v1/code",
    "/api/v1/commands",
    "/api/v1/config",
    "/api/v1/config/check",
    "/api/v1/config/history",
    "/api/v1/config/reload",
    "/api/v1/config/schema",
    "/api/v1/config/undo",
    "/api/v1/demo",
    "/api/v1/doctor",
    "/api/v1/events",
    "/api/v1/import",
    "/api/v1/import/pasted",
    "/api/v1/lock",
    "/api/v1/logs",
    "/api/v1/logs/stream",
    "/api/v1/openapi.json",
    "/api/v1/secrets",
    "/api/v1/secrets/{name}",
    "/api/v1/servers",
    "/api/v1/servers/{name}",
    "/api/v1/servers/{name}/approve",
    "/api/v1/servers/{name}/disable",
    "/api/v1/servers/{name}/enable",
    "/api/v1/servers/{name}/inspect",
    "/api/v1/servers/{name}/keyring",
    "/api/v1/servers/{name}/login",
    "/api/v1/servers/{name}/logout",
    "/api/v1/servers/{name}/logs",
    "/api/v1/servers/{name}/logs/stream",
    "/api/v1/servers/{name}/quarantine",
    "/api/v1/servers/{name}/restart",
    "/api/v1/servers/{name}/tools",
    "/api/v1/sessions",
    "/api/v1/status",
    "/api/v1/tokens",
    "/api/v1/tokens/{name}",
    "/api/v1/tools",
    "/api/v1/tools/show",
    "/api/v1/trial",
    "/api/v1/ui/links",
    "/api/v1/ui/logout",
    "/api/v1/usage",
    "/api/v1/version",
];

/// Everything below a folder of the sources, without the tests in it.
fn sources(folder: &str) -> String {
    let mut text = String::new();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let entries = fs::read_dir(&path).expect("the folder is there");
    for entry in entries.map(|entry| entry.expect("an entry").path()) {
        if entry.is_dir() && entry.file_name().is_some_and(|name| name != "tests") {
            let below = Path::new(folder).join(entry.file_name().expect("a name"));
            text.push_str(&sources(below.to_str().expect("text")));
        } else if entry.extension().is_some_and(|end| end == "rs") {
            text.push_str(&own_part(entry.to_str().expect("text")));
        }
    }
    text
}

/// A file of the sources without its tests.
fn own_part(file: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    let whole = fs::read_to_string(path).expect("it can be read");
    let own = whole.split("#[cfg(test)]").next().unwrap_or_default();
    own.to_owned()
}

/// What stands between these two, wherever the first one stands.
fn between(text: &str, before: &str, after: char) -> BTreeSet<String> {
    let found = text.split(before).skip(1);
    let found = found.filter_map(|rest| rest.split_once(after));
    found.map(|(found, _)| found.to_owned()).collect()
}

#[track_caller]
fn check(what: &str, found: &BTreeSet<String>, listed: &[&[&str]]) {
    let listed: BTreeSet<String> = listed
        .iter()
        .flat_map(|some| some.iter().map(|&one| one.to_owned()))
        .collect();
    let missing: Vec<_> = found.difference(&listed).collect();
    assert!(
        missing.is_empty(),
        "{what} {missing:?}: add a way to tests/it/gate/ways.rs, or say in this file why none is needed"
    );
}

#[test]
fn every_built_in_tool_is_a_way_or_calls_nothing() {
    let text = sources("src/router/built_in");
    let found = between(&text, "\n    name: \"", '"');
    assert!(found.len() >= 7, "{found:?}");
    let listed = [&CALLING[..], &TELLING, &MANAGING, &READING_ON];
    check("the built-in tools", &found, &listed);
}

#[test]
fn every_method_is_asked_or_names_nothing() {
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/wire/method.rs"));
    let found = between(&text.expect("it is there"), ": &str = \"", '"');
    assert!(found.len() >= 30, "{found:?}");
    let listed = [&NAMING[..], &LISTING, &HARMLESS, &LISTENING];
    check("the methods", &found, &listed);
}

#[test]
fn every_endpoint_is_a_way_or_reaches_no_tool() {
    let text = sources("src/inbound") + &sources("src/api");
    let paths = between(&text, "(\"/", '"');
    let mut found: BTreeSet<String> = paths.into_iter().map(|path| format!("/{path}")).collect();
    assert!(found.len() >= 15, "{found:?}");
    let endpoints = own_part("src/inbound/endpoint.rs");
    let mut below = between(&endpoints, "            \"/", '"');
    below.extend(between(&endpoints, "strip_prefix(\"/", '"'));
    assert!(below.len() >= 6, "{below:?}");
    let below: BTreeSet<String> = below.into_iter().map(|path| format!("/{path}")).collect();
    check("the endpoints", &below, &[&ENDPOINTS, &["/mcp"]]);
    // What a path begins with is none.
    for beginning in ["/api/", "/mcp", "/p/", "/server/"] {
        found.remove(beginning);
    }
    check("the paths", &found, &[&BESIDE, &REST]);
}
