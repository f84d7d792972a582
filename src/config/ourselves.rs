//! Whether an entry leads to this mcpproxy itself, by its address or by the program that it starts: its calls would go round for ever. The
//! rule applies to every entry of the configuration, and to the files of clients. Another mcpproxy, on another port or with another
//! configuration, is a server like any other.

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    path::Path,
};

use http::Uri;
use serde_json::{Map, Value};

use super::{
    BrokenEntry, Listen, Places, ServerEntry, Settings, Transport,
    loopback::{on_this_machine, without_brackets},
};
use crate::runtime::sync::Guarded;

/// The address of this mcpproxy on this machine: where the daemon listens, or would listen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OurAddress {
    /// The sockets. The first is that of the address which clients get.
    pub sockets: Vec<SocketAddr>,
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

/// The address of this daemon; without sockets before it listens.
pub(super) struct Whereabouts(Guarded<OurAddress>);

impl Whereabouts {
    pub(super) fn new(places: Option<Places>) -> Self {
        let sockets = Vec::new();
        Self(Guarded::new(OurAddress { sockets, places }))
    }

    /// Notes the sockets on which the daemon listens, whatever the file says later.
    pub(super) fn note_sockets(&self, sockets: Vec<SocketAddr>) {
        self.0.lock().sockets = sockets;
    }

    /// The address: with the sockets on which the daemon listens, or those of `listen` before.
    pub(super) fn address(&self, listen: &Listen) -> OurAddress {
        let us = self.0.lock().clone();
        OurAddress::new(us.sockets, listen, us.places)
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

/// The program that connects a client's pipe to an address.
const BRIDGE: &str = "mcp-remote";

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
    /// The address of a daemon that listens on these sockets, or would as `listen` says where there are none. A port that the system
    /// chooses is not known yet.
    pub fn new(mut sockets: Vec<SocketAddr>, listen: &Listen, places: Option<Places>) -> Self {
        if sockets.is_empty() && listen.port() > 0 {
            sockets = listen.addresses();
        }
        Self { sockets, places }
    }

    /// Whether the daemon listens, or would listen, on a socket.
    pub fn listens_on(&self, socket: SocketAddr) -> bool {
        let host = socket.ip();
        self.sockets.iter().any(|own| {
            let ip = own.ip().to_canonical();
            let is_any = ip.is_unspecified() && (ip.is_ipv6() || host.is_ipv4());
            own.port() == socket.port() && (ip == host || is_any && host.is_loopback())
        })
    }

    /// Whether an entry leads to this mcpproxy, and not to another one. A program may use addresses of ours for other purposes.
    pub fn is_behind(&self, target: &LeadsTo<'_>) -> bool {
        let leads_here = |url: &str, ends: &[&str]| {
            plain_address(url).is_some_and(|(sockets, path)| {
                let is_endpoint = path == "/" || ends.iter().any(|end| path.starts_with(end));
                let mut reached = sockets.into_iter().map(on_this_machine);
                is_endpoint && reached.any(|socket| self.listens_on(socket))
            })
        };
        let mut words = target.args.iter().flat_map(|arg| words_of(arg));
        target.url.is_some_and(|url| leads_here(url, &[""]))
            || words.any(|word| leads_here(word, &["/mcp", "/sse"]))
            || self.uses_our_files(target)
    }

    /// Whether it starts an mcpproxy that uses our files: they are named in its arguments, or it finds them by itself.
    pub fn uses_our_files(&self, target: &LeadsTo<'_>) -> bool {
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
        let args = args.into_iter().flatten().filter_map(Value::as_str);
        let env = entry.get("env").and_then(Value::as_object);
        let env = env.into_iter().flatten();
        Self {
            url: text("url").map(str::trim),
            command: text("command"),
            args: args.collect(),
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

    /// The address at which it reaches its server: its own, or, where it starts `mcp-remote`, the one that follows this word.
    pub fn address(&self) -> Option<&'a str> {
        if self.command.is_none() {
            return self.url;
        }
        let words = self.started(BRIDGE)?.into_iter();
        let is_option = |word: &str| word.starts_with('-') || matches!(word, "/c" | "/C");
        let mut words = words
            .skip_while(|word| is_option(word) || word.contains('=') || is_one_of(word, &STARTERS));
        let first = words.next().filter(|word| is_program(word, BRIDGE))?;
        // Another package of that name may be anybody's.
        let is_it = first.starts_with(BRIDGE) || Path::new(first).is_absolute();
        words.next().filter(|_| is_it)
    }

    /// The words of the command line, if it starts any mcpproxy to serve its client.
    pub fn our_program(&self) -> Option<Vec<&'a str>> {
        let words = self.started("mcpproxy")?;
        let is_served = |word: &&str| matches!(*word, "stdio" | "--stdio");
        words.iter().any(is_served).then_some(words)
    }

    /// The words of the command line, if it starts this program.
    fn started(&self, program: &str) -> Option<Vec<&'a str>> {
        let command = self.command?;
        let mut words = vec![command];
        if is_program(command, program) {
            words.extend(&self.args);
        } else if is_one_of(command, &STARTERS) || is_one_of(command, &CONTAINERS) {
            words.extend(self.args.iter().flat_map(|arg| words_of(arg)));
        }
        let is_started = words.iter().any(|word| is_program(word, program));
        is_started.then_some(words)
    }
}

/// The sockets and the path of a plain address whose host is a number or `localhost`.
pub fn plain_address(url: &str) -> Option<(Vec<SocketAddr>, String)> {
    let url: Uri = url.parse().ok()?;
    let host = url.host()?.trim_end_matches('.');
    let hosts: Vec<IpAddr> = if host.eq_ignore_ascii_case("localhost") {
        vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()]
    } else {
        let host: IpAddr = without_brackets(host).parse().ok()?;
        vec![host.to_canonical()]
    };
    let port = url.port_u16().unwrap_or(80);
    let sockets = hosts.into_iter().map(|host| SocketAddr::new(host, port));
    let is_plain = url.scheme_str()?.eq_ignore_ascii_case("http");
    is_plain.then(|| (sockets.collect(), url.path().to_owned()))
}

/// Whether a command is one of these programs.
fn is_one_of(command: &str, names: &[&str]) -> bool {
    let stem = Path::new(command).file_stem();
    stem.is_some_and(|stem| names.iter().any(|name| stem == *name))
}

/// Whether a word is the name of this program, or of a package with it, perhaps with a version.
fn is_program(word: &str, program: &str) -> bool {
    let name = word.rsplit(['/', '\\']).next().unwrap_or(word);
    let name = name.strip_suffix(".exe").unwrap_or(name);
    !word.contains("://") && name.split(['@', ':']).next() == Some(program)
}

/// Splits an argument, which may be a line for a shell, into words.
fn words_of(arg: &str) -> impl Iterator<Item = &str> {
    let words = arg.split_whitespace();
    words.map(|word| word.trim_matches(['"', '\'', ';', '&', '(', ')']))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{super::places::ChosenBy, *};

    #[test]
    fn sockets_are_read_out_of_addresses() {
        for (url, sockets) in [
            ("http://127.0.0.1:8080/mcp", &["127.0.0.1:8080"][..]),
            ("http://[::ffff:127.0.0.1]:8080", &["127.0.0.1:8080"]),
            ("http://[::]:1?x", &["[::]:1"]),
            ("http://localhost", &["127.0.0.1:80", "[::1]:80"]),
            ("HTTP://u:p@LOCALHOST.:7/", &["127.0.0.1:7", "[::1]:7"]),
            ("http://example.com:8080/mcp", &[]),
            ("https://127.0.0.1", &[]),
            ("", &[]),
            ("http://:x", &[]),
            ("ähttp://", &[]),
        ] {
            let found = plain_address(url).map(|(sockets, _)| sockets);
            let found: Vec<String> = found.iter().flatten().map(ToString::to_string).collect();
            assert_eq!(found, sockets, "{url}");
        }
    }

    #[test]
    fn a_daemon_listens_on_its_sockets_alone() {
        let check = |listen: &str, socket: &str, expected: bool| {
            let listen = listen.parse().expect("an address");
            let us = OurAddress::new(Vec::new(), &listen, None);
            let found = us.listens_on(socket.parse().expect("a socket"));
            assert_eq!(found, expected, "{listen} {socket}");
        };
        check("127.0.0.1:1", "[::1]:1", true);
        check("127.0.0.1:1", "127.0.0.2:1", false);
        check("127.0.0.1:1", "0.0.0.0:1", false);
        check("127.0.0.1:1", "127.0.0.1:2", false);
        check("127.0.0.2:1", "127.0.0.2:1", true);
        check("0.0.0.0:1", "127.0.0.2:1", true);
        check("0.0.0.0:1", "0.0.0.0:1", true);
        check("0.0.0.0:1", "[::1]:1", false);
        check("0.0.0.0:1", "10.0.0.1:1", false);
        check("[::]:1", "127.0.0.1:1", true);
    }

    #[test]
    fn the_bridge_of_an_entry_is_the_program_that_it_starts() {
        let check = |entry: Value, expected: Option<&str>| {
            let target = LeadsTo::of_written(entry.as_object().expect("an entry"));
            assert_eq!(target.address(), expected, "{entry}");
        };
        let npx = |args: &[&str]| json!({ "command": "npx", "args": args });
        check(npx(&["-y", "mcp-remote", "u", "v"]), Some("u"));
        check(npx(&["mcp-remote@0.1.2", "u"]), Some("u"));
        check(npx(&["mcp-remote", "u", "mcp-remote", "v"]), Some("u"));
        check(npx(&["-y", "evil-remote", "u"]), None);
        check(npx(&["evil", "mcp-remote", "u"]), None);
        check(npx(&["@evil/mcp-remote", "u"]), None);
        check(npx(&["evil/mcp-remote", "u"]), None);
        check(npx(&["mcp-remote"]), None);
        check(
            json!({ "command": "/bin/mcp-remote", "args": ["u"] }),
            Some("u"),
        );
        check(
            json!({ "command": "sh", "args": ["-c", "A=1 npx mcp-remote 'u'"] }),
            Some("u"),
        );
        check(json!({ "command": "evil", "url": "u" }), None);
        check(
            json!({ "command": "evil", "args": ["mcp-remote", "u"] }),
            None,
        );
        check(
            json!({ "command": "cmd", "args": ["/c", "npx", "mcp-remote", "u"] }),
            Some("u"),
        );
        check(json!({ "url": "u" }), Some("u"));
    }

    /// Ours are `/c` and `/d`; `chosen_by` says whether they are the usual ones.
    #[track_caller]
    fn check(chosen_by: ChosenBy, entry: &Value, expected: bool) {
        let us = OurAddress {
            sockets: Listen::default().addresses(),
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
            json!({ "url": "http://127.0.0.2:8080/mcp" }),
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
