//! A name for a server that has none: of its package, its image or its host. Pure.

use super::{
    containers::{image_at, starts_containers},
    servers::ClientServer,
};

/// Words behind a runner that are no package.
const VERBS: [&str; 5] = ["run", "dlx", "exec", "x", "tool"];

/// Names of packages that say nothing of the server in them.
const GENERAL: [&str; 3] = ["cli", "mcp", "server"];

/// A name for a server.
pub(super) fn name_of(server: &ClientServer) -> String {
    if let Some(url) = server.url() {
        return name_of_address(url);
    }
    let (command, args) = (server.command(), server.args());
    let plain = args.iter().copied();
    let mut plain = plain.filter(|arg| !arg.starts_with('-') && !VERBS.contains(arg));
    let named = match command {
        Some(command) if starts_containers(command) => {
            let image = image_at(&args).and_then(|at| args.get(at).copied());
            image.or_else(|| plain.next_back())
        }
        _ => run_by_package(&args).or_else(|| plain.next()),
    };
    plain_name(named.or(command).unwrap_or("server"))
}

/// `NAME` of `npx -y @smithery/cli run NAME`.
fn run_by_package<'a>(args: &[&'a str]) -> Option<&'a str> {
    args.windows(3).find_map(|three| match *three {
        [package, "run", name] => {
            let is_run = GENERAL.contains(&last_name(package)) && !name.starts_with('-');
            is_run.then_some(name)
        }
        _ => None,
    })
}

/// `filesystem` of `@modelcontextprotocol/server-filesystem@latest`, and `acme` of `@acme/mcp`.
fn plain_name(program: &str) -> String {
    let name = last_name(program);
    let scope = program.strip_prefix('@').and_then(|it| it.split_once('/'));
    match scope {
        Some((scope, _)) if GENERAL.contains(&name) => scope,
        _ => name,
    }
    .to_owned()
}

fn last_name(program: &str) -> &str {
    let last = program.rsplit(['/', '\\']).next().unwrap_or(program);
    let last = last.split(['@', ':']).next().unwrap_or(last);
    let mut name = last;
    for part in ["mcp-server-", "server-", "mcp-"] {
        name = name.strip_prefix(part).unwrap_or(name);
    }
    for part in ["-mcp-server", "-server", "-mcp"] {
        name = name.strip_suffix(part).unwrap_or(name);
    }
    if name.is_empty() { last } else { name }
}

fn name_of_address(url: &str) -> String {
    let uri = url.parse::<http::Uri>().ok();
    let host = uri.as_ref().and_then(http::Uri::host).unwrap_or("server");
    if host.parse::<std::net::IpAddr>().is_ok() || !host.contains('.') {
        return "server".to_owned();
    }
    let labels = host.split('.').rev().skip(1);
    let named = labels.filter(|label| !["mcp", "api", "www", "co", "com"].contains(label));
    named.last().unwrap_or("server").to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::clients::ClientServer;

    fn name_of(entry: Value) -> String {
        let mut server = ClientServer::written("");
        server.entry = entry;
        super::name_of(&server)
    }

    #[test]
    fn a_server_is_called_after_what_is_started() {
        for (line, expected) in [
            (
                "npx -y @modelcontextprotocol/server-filesystem@latest /data",
                "filesystem",
            ),
            ("npx -y @playwright/mcp@latest", "playwright"),
            ("npx -y @smithery/cli@latest run @x/mail --key k", "mail"),
            ("npx -y @smithery/cli run --key k", "smithery"),
            ("pnpm dlx @x/notes", "notes"),
            ("uvx mcp-server-time --zone x", "time"),
            ("uv tool run github-mcp", "github"),
            ("/opt/bin/acme", "acme"),
            ("docker run -i --rm mcp/filesystem /projects", "filesystem"),
            (
                "docker run -i --rm --mount type=bind,src=/a,dst=/projects mcp/filesystem /projects",
                "filesystem",
            ),
            (
                "docker run -i --rm -e A -eB=/b --env=C=/c ghcr.io/x/github-mcp-server stdio",
                "github",
            ),
            (
                "docker run -itv /a:/b --pull=always --init time:latest /zone",
                "time",
            ),
            (
                "podman container run --network host localhost:5000/x/wiki@sha256:0a",
                "wiki",
            ),
            ("docker mcp gateway run", "gateway"),
            ("docker", "docker"),
        ] {
            let mut words = line.split(' ');
            let command = words.next();
            let args: Vec<&str> = words.collect();
            assert_eq!(
                name_of(json!({ "command": command, "args": args })),
                expected,
                "{line}"
            );
        }
        for (url, expected) in [
            ("https://mcp.linear.app/sse", "linear"),
            ("https://gitlab.com/api/v4/mcp", "gitlab"),
            ("http://127.0.0.1:3000/mcp", "server"),
            ("http://localhost/mcp", "server"),
        ] {
            assert_eq!(name_of(json!({ "url": url })), expected, "{url}");
        }
    }
}
