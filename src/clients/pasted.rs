//! What pages of servers give to be pasted, as a file of a client would have it: a whole file, a part of one, an entry without its name, or an
//! address. Pure.

use serde_json::{Map, Value, json};

use super::{
    client::Client,
    fault::FileFault,
    file::FoundFile,
    rows::CLIENTS,
    servers::{self, Scope},
};
use crate::config;

/// The servers in a pasted text; one without a name gets this one, or one made of what it starts.
pub(super) fn read(text: &str, name: Option<&str>) -> Result<FoundFile, FileFault> {
    let root = root_of(text.trim(), name)?;
    let client = Client::of_content(&root);
    let mut servers = servers::all(client, &root, &Scope::User)?;
    if let ([server], Some(name)) = (&mut servers[..], name) {
        name.clone_into(&mut server.name);
    }
    Ok(FoundFile {
        client,
        servers,
        repeated: Vec::new(),
    })
}

fn root_of(text: &str, name: Option<&str>) -> Result<Value, FileFault> {
    if let Some(url) = address(text) {
        let name = name.map_or_else(|| name_of_address(url), str::to_owned);
        return Ok(listed(&name, &json!({ "url": url })));
    }
    let text = without_fence(text);
    let value = match config::json_of(&text) {
        Ok(value) => value,
        // The inside of a list, as pages show it.
        Err(mistake) if text.starts_with('"') => {
            config::json_of(&format!("{{{text}}}")).map_err(|_| FileFault::from(mistake))?
        }
        Err(mistake) => return Err(mistake.into()),
    };
    let Value::Object(members) = &value else {
        return Err(FileFault::new("it has no MCP server"));
    };
    if has_list(members) {
        return Ok(value);
    }
    if is_entry(&value) {
        let own = members.get("name").and_then(Value::as_str);
        let name = name.or(own).map_or_else(|| name_of(&value), str::to_owned);
        return Ok(listed(&name, &value));
    }
    let mut inside = members.values();
    if !members.is_empty() && inside.all(is_entry) {
        return Ok(json!({ "mcpServers": members }));
    }
    Err(FileFault::new(
        "it has no MCP server: no `mcpServers`, no `command` and no `url`",
    ))
}

fn listed(name: &str, entry: &Value) -> Value {
    json!({ "mcpServers": { name: entry } })
}

fn has_list(members: &Map<String, Value>) -> bool {
    let firsts = CLIENTS.iter().flat_map(|client| client.lists);
    let mut firsts = firsts.filter_map(|list| list.first());
    firsts.any(|key| {
        members
            .get(*key)
            .is_some_and(|list| list.is_object() || list.is_array())
    })
}

fn is_entry(value: &Value) -> bool {
    let keys = ["command", "cmd", "url", "serverUrl", "httpUrl", "uri"];
    keys.iter().any(|key| value.get(key).is_some())
}

fn address(text: &str) -> Option<&str> {
    let is_url = text.starts_with("https://") || text.starts_with("http://");
    (is_url && !text.contains(char::is_whitespace)).then_some(text)
}

/// A block of Markdown without its fence.
fn without_fence(text: &str) -> String {
    let is_fence = |line: &&str| !line.trim_start().starts_with("```");
    text.lines()
        .filter(is_fence)
        .collect::<Vec<_>>()
        .join("\n")
        .trim()
        .to_owned()
}

/// A name for an entry that has none.
fn name_of(entry: &Value) -> String {
    let text = |key: &str| entry.get(key).and_then(Value::as_str);
    if let Some(url) = ["url", "serverUrl", "httpUrl", "uri"]
        .iter()
        .find_map(|key| text(key))
    {
        return name_of_address(url);
    }
    let args = entry.get("args").and_then(Value::as_array);
    let mut args = args.into_iter().flatten().filter_map(Value::as_str);
    // Of `npx -y @scope/server-name`, `docker run -i ghcr.io/owner/name` and the like what comes last and is no option.
    let named = args.rfind(|arg| !arg.starts_with('-') && *arg != "run");
    let program = named.or_else(|| text("command")).unwrap_or("server");
    plain_name(program)
}

/// `filesystem` of `@modelcontextprotocol/server-filesystem@latest`.
fn plain_name(program: &str) -> String {
    let last = program.rsplit(['/', '\\']).next().unwrap_or(program);
    let last = last.split(['@', ':']).next().unwrap_or(last);
    let mut name = last;
    for part in ["mcp-server-", "server-", "mcp-"] {
        name = name.strip_prefix(part).unwrap_or(name);
    }
    for part in ["-mcp-server", "-server", "-mcp"] {
        name = name.strip_suffix(part).unwrap_or(name);
    }
    if name.is_empty() { last } else { name }.to_owned()
}

fn name_of_address(url: &str) -> String {
    let uri = url.parse::<http::Uri>().ok();
    let host = uri.as_ref().and_then(http::Uri::host).unwrap_or("server");
    if host.parse::<std::net::IpAddr>().is_ok() || !host.contains('.') {
        return "server".to_owned();
    }
    let labels = host.split('.').rev().skip(1);
    let named = labels.filter(|label| !["mcp", "api", "www", "co", "com"].contains(label));
    named
        .last()
        .map_or_else(|| "server".to_owned(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::read;

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        let found = read(text, None).expect("servers");
        let names: Vec<&str> = found.servers.iter().map(|server| &*server.name).collect();
        assert_eq!(names, expected, "{text}");
    }

    #[test]
    fn everything_that_pages_give_is_understood() {
        check(
            r#"{"mcpServers": {"a": {"command": "x"}, "b": {"url": "https://h/"}}}"#,
            &["a", "b"],
        );
        check(
            r#"{"servers": {"a": {"type": "stdio", "command": "x"}}}"#,
            &["a"],
        );
        check(r#"{"a": {"command": "x"}}"#, &["a"]);
        check(r#""a": {"command": "x"},"#, &["a"]);
        check(
            "```json\n\"a\": {\n  \"command\": \"x\" // c\n}\n```",
            &["a"],
        );
        check(
            r#"{"command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem"]}"#,
            &["filesystem"],
        );
        check(
            r#"{"command": "uvx", "args": ["mcp-server-time"]}"#,
            &["time"],
        );
        check(
            r#"{"command": "docker", "args": ["run", "-i", "--rm", "ghcr.io/github/github-mcp-server"]}"#,
            &["github"],
        );
        check("https://mcp.linear.app/sse", &["linear"]);
        check("http://127.0.0.1:3000/mcp", &["server"]);
        let found = read(r#"{"command": "x"}"#, Some("mine")).expect("a server");
        assert_eq!(found.servers[0].name, "mine");
    }

    #[test]
    fn what_is_no_server_is_said() {
        for text in [
            "",
            "[]",
            "{}",
            r#"{"a": 1}"#,
            "npx -y x",
            r#"{"mcpServers": 7}"#,
        ] {
            read(text, None).expect_err(text);
        }
    }
}
