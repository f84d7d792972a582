//! Whether an entry leads to this mcpproxy itself, by its address or by the program that it starts: its calls would go round for ever. The
//! rule applies to every entry of the configuration, and to the files of clients. Another mcpproxy, on another port or with another
//! configuration, is a server like any other.

use std::path::Path;

use http::Uri;
use serde_json::{Map, Value};

use super::{BrokenEntry, Listen, Places, ServerEntry, Settings, Transport};
use crate::{config::loopback, runtime::sync::Guarded};

/// The address of this mcpproxy on this machine: where the daemon listens, or would listen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OurAddress {
    /// The ports. The first is that of the address which clients get.
    pub ports: Vec<u16>,
    /// Our configuration file and data folder, if they are known.
    pub places: Option<Places>,
}

/// The keys of an entry that say what it leads to.
#[derive(Debug, Default)]
pub struct LeadsTo<'a> {
    /// Its address.
    pub url: Option<&'a str>,
    /// Its program.
    pub command: Option<&'a str>,
    /// The arguments of the program.
    pub args: Vec<&'a str>,
    /// The names of the program's variables.
    pub env: Vec<&'a str>,
}

/// The address of this daemon, before and after it listens.
#[derive(Default)]
pub(super) struct Whereabouts {
    /// The ports on which it listens; empty before.
    bound: Guarded<Vec<u16>>,
    places: Option<Places>,
}

impl Whereabouts {
    pub(super) fn new(places: Option<Places>) -> Self {
        Self {
            places,
            ..Self::default()
        }
    }

    /// Notes the ports on which the daemon listens, whatever the file says later.
    pub(super) fn note_ports(&self, ports: Vec<u16>) {
        *self.bound.lock() = ports;
    }

    /// The address: with the ports on which the daemon listens, or that of `listen` before.
    pub(super) fn address(&self, listen: &Listen) -> OurAddress {
        let bound = self.bound.lock().clone();
        if bound.is_empty() {
            return OurAddress::configured(listen, self.places.clone());
        }
        OurAddress {
            ports: bound,
            places: self.places.clone(),
        }
    }
}

/// The error of an entry that leads to this mcpproxy.
pub(super) const BEHIND_ITSELF: &str = "is mcpproxy itself";

/// Programs that start another program, which is in their arguments: as a word, in a line for a shell, or as a package to download.
const STARTERS: [&str; 14] = [
    "env", "sudo", "nice", "nohup", "sh", "bash", "dash", "zsh", "fish", "npx", "bunx", "pnpx",
    "uvx", "cmd",
];

/// Such programs in which the started program has neither our ports nor our files.
const CONTAINERS: [&str; 2] = ["docker", "podman"];

/// Options and variables that choose another configuration or data folder.
const PLACES: [&str; 7] = [
    "--config",
    "--data-dir",
    "HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "MCPPROXY_CONFIG",
    "MCP_CONFIG_PATH",
];

impl OurAddress {
    /// The address of a daemon with this `listen`. A port that the system chooses is not known yet.
    pub fn configured(listen: &Listen, places: Option<Places>) -> Self {
        let port = Some(listen.port()).filter(|port| *port > 0);
        Self {
            ports: port.into_iter().collect(),
            places,
        }
    }

    /// Whether an entry leads to this mcpproxy, and not to another one.
    pub fn is_behind(&self, target: &LeadsTo<'_>) -> bool {
        let is_ours = |port: u16| self.ports.contains(&port);
        let words = target.args.iter().flat_map(|arg| words_of(arg));
        target.url.and_then(loopback_port).is_some_and(is_ours)
            || words.filter_map(endpoint_port).any(is_ours)
            || self.uses_our_files(target)
    }

    /// Whether an entry of a client leads to this mcpproxy, or starts any mcpproxy.
    pub fn is_named_by(&self, target: &LeadsTo<'_>) -> bool {
        target.our_program().is_some()
            || loopback_port_of(target).is_some_and(|port| self.ports.contains(&port))
    }

    /// Whether it starts an mcpproxy that uses our files: they are named in its arguments, or it finds them by itself.
    fn uses_our_files(&self, target: &LeadsTo<'_>) -> bool {
        let is_in_container = |command: &str| is_one_of(command, &CONTAINERS);
        let Some(words) = target.our_program() else {
            return false;
        };
        let Some(places) = &self.places else {
            return true;
        };
        let parts = words.iter().flat_map(|word| word.split('='));
        let parts: Vec<&str> = parts.chain(target.env.iter().copied()).collect();
        let is_ours = |part: &str| {
            let path = Path::new(part);
            path == places.config_file || path == places.data_dir
        };
        let finds_ours = || {
            let is_usual = places.requested_by().is_none();
            is_usual && !parts.iter().any(|part| PLACES.contains(part))
        };
        !target.command.is_some_and(is_in_container)
            && (parts.iter().any(|part| is_ours(part)) || finds_ours())
    }
}

/// Moves the servers that lead to this mcpproxy to the broken entries.
pub(super) fn refuse_ourselves(settings: &mut Settings, us: &OurAddress) {
    let is_behind = |entry: &ServerEntry| us.is_behind(&LeadsTo::of_entry(entry));
    let refused = settings.servers.extract_if(.., |_, entry| is_behind(entry));
    settings
        .broken
        .extend(refused.map(|(name, entry)| BrokenEntry {
            name: name.to_string(),
            quarantined: entry.quarantined,
            ..BrokenEntry::new(format!("it {BEHIND_ITSELF}"))
        }));
}

impl<'a> LeadsTo<'a> {
    /// The target of an entry as it is written.
    pub(super) fn of_written(entry: &'a Map<String, Value>) -> Self {
        let text = |key: &str| entry.get(key).and_then(Value::as_str);
        let args = entry.get("args").and_then(Value::as_array);
        let env = entry.get("env").and_then(Value::as_object);
        let env = env.into_iter().flatten();
        Self {
            url: text("url").map(str::trim),
            command: text("command"),
            args: args
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
                .collect(),
            env: env.map(|(name, _)| name.as_str()).collect(),
        }
    }

    /// The target of an entry with its references resolved.
    pub(super) fn of_entry(entry: &'a ServerEntry) -> Self {
        match &entry.transport {
            Transport::Remote(remote) => Self {
                url: Some(&remote.url),
                ..Self::default()
            },
            Transport::Stdio(stdio) => Self {
                command: Some(&stdio.command),
                args: stdio.args.iter().map(String::as_str).collect(),
                env: stdio.env.keys().map(String::as_str).collect(),
                ..Self::default()
            },
        }
    }

    /// The words of the command line, if it starts mcpproxy. Our demo server does not count: it is a server like any other.
    fn our_program(&self) -> Option<Vec<&'a str>> {
        let command = self.command?;
        let mut words = vec![command];
        if is_program(command) {
            words.extend(&self.args);
        } else if is_one_of(command, &STARTERS) || is_one_of(command, &CONTAINERS) {
            words.extend(self.args.iter().flat_map(|arg| words_of(arg)));
        }
        let is_started = words.iter().any(|word| is_program(word));
        (is_started && !words.contains(&"demo-server")).then_some(words)
    }
}

/// Whether a command is one of these programs.
fn is_one_of(command: &str, names: &[&str]) -> bool {
    let stem = Path::new(command).file_stem();
    stem.is_some_and(|stem| names.iter().any(|name| stem == *name))
}

/// Whether a word is the name of mcpproxy's program, or of a package with it, perhaps with a version.
fn is_program(word: &str) -> bool {
    let name = word.rsplit(['/', '\\']).next().unwrap_or(word);
    let name = name.strip_suffix(".exe").unwrap_or(name);
    !word.contains("://") && name.split(['@', ':']).next() == Some("mcpproxy")
}

/// Splits an argument, which may be a line for a shell, into words.
fn words_of(arg: &str) -> impl Iterator<Item = &str> {
    let words = arg.split_whitespace();
    words.map(|word| word.trim_matches(['"', '\'', ';', '&', '(', ')']))
}

/// The port on this machine to which an entry of a client leads, by its address or by an address in its arguments.
pub fn loopback_port_of(target: &LeadsTo<'_>) -> Option<u16> {
    let mut addresses = target.url.iter().chain(&target.args);
    addresses.find_map(|address| loopback_port(address))
}

/// The port of an address on this machine.
fn loopback_port(url: &str) -> Option<u16> {
    port_and_path(url).map(|(port, _)| port)
}

/// The port of an address on this machine whose path could be an MCP endpoint. A program may use other addresses for other purposes.
fn endpoint_port(word: &str) -> Option<u16> {
    let (port, path) = port_and_path(word)?;
    let is_endpoint = path == "/" || ["/mcp", "/sse"].iter().any(|at| path.starts_with(at));
    is_endpoint.then_some(port)
}

fn port_and_path(url: &str) -> Option<(u16, String)> {
    let url: Uri = url.parse().ok()?;
    let host = url.host()?.trim_end_matches('.');
    // A connection to the unspecified address reaches this machine.
    let is_here = matches!(host, "0.0.0.0" | "[::]") || loopback::is_loopback(host);
    let is_plain = url.scheme_str()?.eq_ignore_ascii_case("http");
    (is_plain && is_here).then(|| (url.port_u16().unwrap_or(80), url.path().to_owned()))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{super::places::ChosenBy, *};

    #[test]
    fn ports_of_this_machine_are_read_out_of_addresses() {
        for (url, port) in [
            ("http://127.0.0.1:8080/mcp", 8080),
            ("http://[::1]:1?x", 1),
            ("http://localhost", 80),
            ("HTTP://u:p@LOCALHOST.:7/", 7),
        ] {
            assert_eq!(loopback_port(url), Some(port), "{url}");
        }
        for other in [
            "http://example.com:8080/mcp",
            "https://127.0.0.1",
            "",
            "http://:x",
            "ähttp://",
        ] {
            assert_eq!(loopback_port(other), None, "{other}");
        }
    }

    /// Ours are `/c` and `/d`; `chosen_by` says whether they are the usual ones.
    #[track_caller]
    fn check(chosen_by: ChosenBy, entry: &Value, expected: bool) {
        let us = OurAddress {
            ports: vec![8080],
            places: Some(Places {
                config_file: "/c".into(),
                data_dir: "/d".into(),
                data_dir_given: chosen_by != ChosenBy::Platform,
                chosen_by,
            }),
        };
        let target = LeadsTo::of_written(entry.as_object().expect("an entry"));
        assert_eq!(us.is_behind(&target), expected, "{entry}");
    }

    #[test]
    fn a_server_that_leads_to_us_is_told_from_others() {
        for entry in [
            json!({ "url": "http://localhost:8080/mcp/all" }),
            json!({ "url": "http://0.0.0.0:8080/mcp" }),
            json!({ "command": "/opt/bin/mcpproxy", "args": ["stdio"] }),
            json!({ "command": "npx", "args": ["-y", "mcp-remote", "http://127.0.0.1:8080/mcp"] }),
            json!({ "command": "sh", "args": ["-c", "npx mcp-remote 'http://127.0.0.1:8080/sse'"] }),
            json!({ "command": "npx", "args": ["-y", "@some/mcpproxy@1.2", "stdio"] }),
            json!({ "command": "env", "args": ["A=1", "mcpproxy", "stdio"] }),
            json!({ "command": "sh", "args": ["-c", "exec \"/opt/mcpproxy\" stdio"] }),
            json!({ "command": "mcpproxy", "args": ["--config", "/c", "stdio"] }),
            json!({ "command": "mcpproxy", "args": ["stdio", "--data-dir=/d"] }),
        ] {
            check(ChosenBy::Platform, &entry, true);
        }
        for entry in [
            json!({ "url": "http://127.0.0.1:8081/mcp" }),
            json!({ "url": "http://example.com:8080/mcp" }),
            json!({ "command": "npx", "args": ["mcp-remote", "http://127.0.0.1:8081/mcp"] }),
            json!({ "command": "npx", "args": ["mcp-remote", "https://example.com/mcpproxy"] }),
            json!({ "command": "probe", "args": ["--target", "http://127.0.0.1:8080/api/v1/status"] }),
            json!({ "command": "mcpproxy", "args": ["demo-server"] }),
            json!({ "command": "sh", "args": ["-c", "mcpproxy demo-server"] }),
            json!({ "command": "sh", "args": ["-c", "node my-mcpproxy"] }),
            json!({ "command": "node", "args": ["mcpproxy"] }),
            json!({ "command": "mcpproxy", "args": ["--config", "/other", "stdio"] }),
            json!({ "command": "mcpproxy", "args": ["stdio", "--data-dir=/other"] }),
            json!({ "command": "mcpproxy", "args": ["stdio"], "env": { "MCPPROXY_CONFIG": "/other" } }),
            json!({ "command": "env", "args": ["HOME=/h", "mcpproxy", "stdio"] }),
            json!({ "command": "docker", "args": ["run", "-i", "some/mcpproxy:1", "stdio"] }),
            json!({ "command": 7 }),
        ] {
            check(ChosenBy::Platform, &entry, false);
        }
    }

    #[test]
    fn the_usual_mcpproxy_is_another_one_for_who_has_places_of_their_own() {
        check(
            ChosenBy::Flag,
            &json!({ "command": "mcpproxy", "args": ["stdio"] }),
            false,
        );
        for args in [["--config", "/c", "stdio"], ["--data-dir", "/d", "stdio"]] {
            let entry = json!({ "command": "mcpproxy", "args": args });
            check(ChosenBy::Flag, &entry, true);
        }
    }
}
