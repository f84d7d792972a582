//! How clients reach us: the address of the daemon that runs or would run, or our program.

use std::{
    io,
    net::{SocketAddr, TcpListener},
    path::Path,
};

use super::{
    client::Client,
    endpoint::served_at,
    our_entry::{ConnectTarget, EntryTraits},
    sent_token::{SentToken, TOKEN_VARIABLE},
    servers::ClientServer,
};
use crate::{
    config::{
        History, HistoryEntry, Listen, OurAddress, Settings, loopback::on_this_machine,
        plain_address,
    },
    failure::{ErrorCode, Failure, Result},
    management::{DaemonLocation, Files},
    process,
    storage::in_words,
};

/// How clients reach us.
pub struct Reaching {
    /// Where entries that lead to us lead to.
    pub us: OurAddress,
    /// Whether a daemon runs.
    pub is_running: bool,
    /// What is configured, with the tokens that were issued.
    pub(super) settings: Settings,
    /// `http://HOST:PORT`; nothing where the port is not known before the daemon runs, or it serves no HTTP.
    address: Option<String>,
    program: String,
    /// What `mcpproxy stdio` has to be told of places.
    arguments: Vec<String>,
}

impl Reaching {
    /// For the daemon that is at `location`, or for one that would be started.
    pub fn new(files: &Files, location: Option<&DaemonLocation>, us: OurAddress) -> Result<Self> {
        // Whether clients have to show a token must be known before an entry is written.
        let settings = files.settings_of_clients()?;
        let serves_http = location.is_none_or(|location| location.url.is_some());
        let first = us.sockets.first().filter(|_| serves_http);
        let address = first.map(|socket| format!("http://{}", on_this_machine(*socket)));
        let places = files.places();
        let mut arguments = Vec::new();
        if places.requested_by().is_some() {
            arguments.extend(["--config".to_owned(), text(&places.config_file)]);
        }
        if places.data_dir_given {
            arguments.extend(["--data-dir".to_owned(), text(&places.data_dir)]);
        }
        let program = process::own_program_on_path().map_err(|error| {
            let why = in_words(&error);
            let what = format!("failed to find mcpproxy's own program: {why}");
            Failure::new(ErrorCode::Internal, what, "start mcpproxy by its full path")
        })?;
        Ok(Self {
            us,
            settings,
            is_running: location.is_some(),
            address,
            program: text(&program),
            arguments,
        })
    }

    /// Whether there is a token that `connect --token` issued to this client.
    pub(super) fn has_issued_to(&self, client: Client) -> bool {
        self.issued_to_clients().any(|(id, _)| id == client.id())
    }

    /// The tokens that `connect --token` issued: the client of each, and its name.
    pub fn issued_to_clients(&self) -> impl Iterator<Item = (String, String)> {
        let issued = self.settings.issued.iter();
        issued.filter_map(|token| Some((token.client.clone()?, token.name.clone())))
    }

    /// For one client, whose entry has these traits.
    pub(super) fn target(&self, client: Client, traits: EntryTraits) -> Result<ConnectTarget> {
        if traits.is_process || !client.speaks_http() {
            let mut args = self.arguments.clone();
            args.push("stdio".to_owned());
            if let Some(endpoint) = traits.endpoint {
                args.extend(["--endpoint".to_owned(), endpoint]);
            }
            return Ok(ConnectTarget::Process {
                command: self.program.clone(),
                args,
                token: match traits.token {
                    SentToken::Written(token) => Some(token),
                    _ => None,
                },
            });
        }
        let Some(address) = &self.address else {
            let what = if self.is_running {
                "nothing was connected: the daemon does not serve HTTP, only its local socket"
            } else {
                "nothing was connected: the configured `listen` has no fixed port for clients"
            };
            let hint = "Set `listen` to a free port, or connect with stdio.";
            let step =
                "`mcpproxy doctor` shows the reason and a free port; or connect with --stdio";
            let failure = Failure::new(ErrorCode::ClientUnchanged, what, hint);
            return Err(failure.at_terminal(step));
        };
        Ok(ConnectTarget::Http {
            url: format!("{address}{}", traits.endpoint.as_deref().unwrap_or("/mcp")),
            token: (self.settings.requires_credentials() && traits.token == SentToken::Nothing)
                .then(|| TOKEN_VARIABLE.to_owned()),
        })
    }
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// Which entries of clients lead to us. What an entry leads to is for `config` to say.
impl OurAddress {
    /// Whether an entry leads to this mcpproxy, or starts any. Blocks.
    pub fn is_us(&self, server: &ClientServer) -> bool {
        server.leads_to().our_program().is_some() || self.serves(server)
    }

    /// Whether an entry leads to this mcpproxy, with our address or our files, and not to a program that is gone. Blocks.
    pub(super) fn is_this_one(&self, server: &ClientServer) -> bool {
        let is_ours = self.serves(server) || self.uses_our_files(&server.leads_to());
        is_ours && server.missing_program().is_none()
    }

    /// Whether an entry means us and leads to an address that nobody serves, or where we listened before another program did. Blocks.
    pub fn is_us_elsewhere(&self, server: &ClientServer) -> bool {
        match self.elsewhere(server) {
            Some(Err(socket)) => self.was_at(socket.port()),
            elsewhere => elsewhere.is_some(),
        }
    }

    /// Whether `listen` had this port before a change. Blocks.
    fn was_at(&self, port: u16) -> bool {
        let folder = self.places.as_ref().map(|places| &*places.data_dir);
        let entries = History::new(folder, None).entries().unwrap_or_default();
        let of_entry = |(at, entry): (usize, &HistoryEntry)| {
            let change = entry.changes.iter().find(|one| one.path == ["listen"])?;
            match &change.before {
                Some(before) => before.as_str()?.parse::<Listen>().ok(),
                // The first change may have made the file, before any client was connected.
                None => (at > 0).then(Listen::default),
            }
        };
        let mut earlier = entries.iter().enumerate().filter_map(of_entry);
        earlier.any(|listen| listen.port() == port)
    }

    /// Whether an entry that leads to this one or means it leads nowhere: to a program that is gone, or to an old address. Blocks.
    pub(super) fn is_stale(&self, server: &ClientServer) -> bool {
        self.is_us(server) && server.missing_program().is_some() || self.is_us_elsewhere(server)
    }

    /// Who else an entry leads to. Blocks.
    pub(super) fn another(&self, server: &ClientServer) -> String {
        match self.elsewhere(server) {
            Some(Err(socket)) => format!("another program, at {socket},"),
            _ if self.is_us(server) => "another mcpproxy, with other files,".to_owned(),
            _ => "another server".to_owned(),
        }
    }

    /// Whether an entry has the address of an endpoint of ours, at which no other program listens. Blocks.
    fn serves(&self, server: &ClientServer) -> bool {
        let at = server.leads_to().address().and_then(plain_address);
        at.is_some_and(|(sockets, path)| {
            let is_ours = sockets.iter().any(|socket| self.listens_on(*socket));
            is_ours && served_at(&path).is_some() && self.another_at(&sockets).is_none()
        })
    }

    /// Of an entry that is called like us and has an address of this machine which we do not serve: whether nobody does, or at which
    /// socket another program listens. Blocks.
    fn elsewhere(&self, server: &ClientServer) -> Option<Result<(), SocketAddr>> {
        let is_called_so = server.name.to_lowercase().contains("mcpproxy");
        let (sockets, _) = plain_address(server.leads_to().address()?)?;
        let mut reached = sockets.iter().copied().map(on_this_machine);
        let is_here = reached.all(|socket| socket.ip().is_loopback());
        (is_called_so && is_here && !self.serves(server))
            .then(|| self.another_at(&sockets).map_or(Ok(()), Err))
    }

    /// The first of these sockets at which a program listens that is not this daemon. Blocks.
    fn another_at(&self, sockets: &[SocketAddr]) -> Option<SocketAddr> {
        let mut sockets = sockets.iter().copied();
        sockets.find(|at| !self.listens_on(on_this_machine(*at)) && is_taken(*at))
    }
}

/// Whether a program of this machine listens at a socket.
pub(super) fn is_taken(socket: SocketAddr) -> bool {
    let bound = TcpListener::bind(socket);
    bound.is_err_and(|error| error.kind() == io::ErrorKind::AddrInUse)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{ClientServer, Listen, OurAddress, TcpListener};
    use crate::config::{ChosenBy, Places};

    #[test]
    fn whatever_leads_to_us_is_us() {
        let us = OurAddress::new(Vec::new(), &Listen::default(), None);
        let check = |entry: Value, expected: bool| {
            let server = ClientServer {
                name: "x".to_owned(),
                project: None,
                list: Vec::new(),
                entry: entry.clone(),
                inputs: std::sync::Arc::default(),
            };
            assert_eq!(us.is_us(&server), expected, "{entry}");
        };
        check(json!({ "url": "http://localhost:8080/mcp/all" }), true);
        check(json!({ "serverUrl": "http://[::1]:8080/mcp" }), true);
        check(json!({ "uri": "http://127.0.0.1:8081/mcp" }), false);
        check(
            json!({ "command": "/opt/bin/mcpproxy", "args": ["stdio"] }),
            true,
        );
        check(json!({ "command": ["mcpproxy", "stdio"] }), true);
        check(
            json!({ "command": "npx", "args": ["-y", "@some/mcpproxy@1.2", "stdio"] }),
            true,
        );
        check(
            json!({ "command": "npx", "args": ["mcp-remote", "http://127.0.0.1:8080/mcp"] }),
            true,
        );
        for elsewhere in [
            "http://0.0.0.0:8080/mcp",
            "http://127.0.0.2:8080/mcp",
            "http://127.0.0.1:8080/nope",
            "HTTP://LOCALHOST:8080/MCP",
        ] {
            check(json!({ "url": elsewhere }), false);
        }
        check(json!({ "url": "HTTP://LOCALHOST:8080/mcp?x" }), true);
        check(
            json!({ "command": "npx", "args": ["mcp-remote", "https://e.example/mcp", "http://127.0.0.1:8080/mcp"] }),
            false,
        );
        check(
            json!({ "command": "else", "url": "http://127.0.0.1:8080/mcp" }),
            false,
        );
        check(json!({ "command": "mcpproxy", "args": ["status"] }), false);
        check(
            json!({ "command": "env", "args": ["A=1", "mcpproxy", "stdio"] }),
            true,
        );
        check(
            json!({ "command": "sh", "args": ["-c", "exec /opt/mcpproxy stdio"] }),
            true,
        );
        check(
            json!({ "command": "sh", "args": ["-c", "mcpproxy demo-server"] }),
            false,
        );
        check(
            json!({ "command": "sh", "args": ["-c", "node my-mcpproxy"] }),
            false,
        );
        check(json!({ "command": "node", "args": ["mcpproxy"] }), false);
        check(
            json!({ "command": "uvx", "args": ["mcp-server-time"] }),
            false,
        );
        check(json!(7), false);
    }

    #[test]
    fn an_entry_at_an_earlier_port_is_ours_whoever_has_that_port_now() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let taken = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = taken.local_addr().expect("an address");
        let us = OurAddress {
            sockets: vec![([127, 0, 0, 1], 1).into()],
            places: Some(Places {
                config_file: "/c".into(),
                data_dir: folder.path().into(),
                data_dir_given: true,
                chosen_by: ChosenBy::Platform,
            }),
        };
        let server = ClientServer {
            entry: json!({ "url": format!("http://{address}/mcp") }),
            ..ClientServer::written("mcpproxy")
        };
        assert!(!us.is_us_elsewhere(&server));
        let change = json!({ "path": ["listen"], "before": address.to_string(), "after": ":1" });
        let line = json!({ "id": 1, "at": "x", "by": "operator", "way": "terminal", "changes": [change], "needs": "restart" });
        let history = folder.path().join("config-history.jsonl");
        std::fs::write(history, line.to_string()).expect("ours");
        assert!(us.is_us_elsewhere(&server));
    }
}
