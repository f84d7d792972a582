//! How clients reach us: the address of the daemon that runs or would run, or our program.

use std::path::Path;

use super::super::{background, failure::CommandFailure, output::Output, service};
use crate::{
    client_files::{Client, ConnectTarget, OurAddress},
    config::{Provider, Settings},
    daemon_client::DaemonClient,
    management::{Management, OverFiles, StatusReport},
};

/// The variable of a client's environment that has its token.
const TOKEN: &str = "MCPPROXY_TOKEN";

/// How clients reach us.
pub(in crate::cli) struct Reaching {
    /// Where entries that lead to us lead to.
    pub(in crate::cli) us: OurAddress,
    /// `http://HOST:PORT`; nothing where the port is not known before the daemon runs, or it serves no HTTP.
    address: Option<String>,
    /// Whether clients have to show a token.
    needs_token: bool,
    program: String,
    /// What `mcpproxy stdio` has to be told of places.
    arguments: Vec<String>,
    is_running: bool,
}

impl Reaching {
    pub(in crate::cli) fn new(
        files: &Management<OverFiles>,
        daemon: Option<&DaemonClient>,
        us: OurAddress,
    ) -> Result<Self, CommandFailure> {
        let status: Option<StatusReport> =
            daemon.and_then(|daemon| serde_json::from_slice(daemon.status()).ok());
        let settings = files.settings_without_secrets().unwrap_or_default();
        let address = match &status {
            Some(status) => {
                let url = status.location.url.as_deref();
                url.and_then(|url| url.strip_suffix("/mcp"))
                    .map(on_this_machine)
            }
            None => configured(&settings),
        };
        let places = files.places();
        let mut arguments = Vec::new();
        if places.asked_by().is_some() {
            arguments.extend(["--config".to_owned(), text(&places.config_file)]);
        }
        if places.data_dir_given {
            arguments.extend(["--data-dir".to_owned(), text(&places.data_dir)]);
        }
        let program = service::own_program().or_else(|_| background::own_program())?;
        Ok(Self {
            us,
            address,
            needs_token: needs_token(&settings),
            program: text(&program),
            arguments,
            is_running: status.is_some(),
        })
    }

    /// For one client.
    pub(super) fn target(
        &self,
        client: Client,
        endpoint: Option<&str>,
        by_process: bool,
    ) -> Result<ConnectTarget, CommandFailure> {
        if by_process || !client.speaks_http() {
            let mut args = self.arguments.clone();
            args.push("stdio".to_owned());
            if let Some(endpoint) = endpoint {
                args.extend(["--endpoint".to_owned(), endpoint.to_owned()]);
            }
            return Ok(ConnectTarget::Process {
                command: self.program.clone(),
                args,
            });
        }
        let Some(address) = &self.address else {
            let what = if self.is_running {
                "the daemon that runs serves no HTTP, only its local socket"
            } else {
                "the configured `listen` leaves the port to the system, so clients cannot be told it"
            };
            return Err(CommandFailure::failed(what)
                .next("set `listen` to a port that is free, or use --stdio"));
        };
        Ok(ConnectTarget::Http {
            url: format!("{address}{}", endpoint.unwrap_or("/mcp")),
            token: self.needs_token.then(|| TOKEN.to_owned()),
        })
    }

    /// Says what is left to do for these clients.
    pub(super) fn say_hints(&self, clients: &[Client], out: Output) {
        self.say_token(clients, out);
        if self.is_running {
            out.note("next step: start the client anew, so that it reads its file");
        } else {
            out.note("next step: start the daemon (`mcpproxy serve`, or `mcpproxy service install`), then the client anew");
        }
    }

    /// Says where these clients have their token from, where one is asked for.
    pub(in crate::cli) fn say_token(&self, clients: &[Client], out: Output) {
        if !self.needs_token {
            return;
        }
        let (refers, others): (Vec<Client>, Vec<Client>) = clients
            .iter()
            .partition(|client| client.refers_to_variables());
        let names = |clients: &[Client]| {
            let names: Vec<&str> = clients.iter().map(|client| client.name()).collect();
            names.join(", ")
        };
        if !refers.is_empty() {
            out.note(&format!(
                "clients have to show a token (`serverAuth`): set {TOKEN} in the environment of {}",
                names(&refers)
            ));
        }
        if !others.is_empty() {
            out.note(&format!(
                "clients have to show a token (`serverAuth`), and files of {} refer to no variables: write it into the entry by hand",
                names(&others)
            ));
        }
    }
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

fn needs_token(settings: &Settings) -> bool {
    let auth = settings.server_auth.as_ref();
    auth.is_some_and(|auth| auth.providers.contains(&Provider::Bearer))
}

/// The address of a daemon that would be started.
fn configured(settings: &Settings) -> Option<String> {
    let first = settings.listen.addresses().first().copied()?;
    (first.port() > 0).then(|| on_this_machine(&format!("http://{first}")))
}

/// The same from this machine: all addresses stand for one that can be connected to.
fn on_this_machine(address: &str) -> String {
    address
        .replace("http://0.0.0.0:", "http://127.0.0.1:")
        .replace("http://[::]:", "http://[::1]:")
}
