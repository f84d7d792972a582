//! `mcpproxy connect`: adds mcpproxy to clients' files, removes it, or shows which clients have it.

mod file;
mod list;
mod own_token;

use clap::Args;
use http::Method;

pub(super) use self::file::say_token;
use self::{file::say_done, own_token::change_own_token};
use super::{CommandFailure, Done, Location, OrUndone, Output, connection, output, token};
use crate::{
    clients::{
        Client, ClientList, ClientPlaces, ConnectRequest, Connected, Reaching, check_endpoint,
        client_of_word, connect, disconnect, endpoint_path, entry_name, home_places, is_free,
        judged_rows, may_be_connected, our_address, shown_token,
    },
    daemon_client::DaemonClient,
    management::{Files, ServerList},
};

/// Connect your AI clients, or show which are connected
///
/// mcpproxy keeps the comments and the order of a client's file outside its own entry, and saves a backup next to it.
#[derive(Debug, Args)]
#[command(after_long_help = format!("Clients: {}", Client::listed(Client::can_connect)))]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag")]
pub(super) struct ConnectCommand {
    /// The clients, such as `claude-code`
    #[arg(value_name = "CLIENT", value_parser = client_of_word)]
    clients: Vec<Client>,
    /// Connect all installed clients
    #[arg(long, conflicts_with = "clients")]
    all: bool,
    /// Write to the project file in this folder
    #[arg(long)]
    project: bool,
    /// The name of a new entry, `mcpproxy` by default
    #[arg(long, value_name = "NAME", value_parser = entry_name)]
    name: Option<String>,
    /// The endpoint, such as /mcp/all or /mcp/server/NAME
    #[arg(long, value_name = "PATH", value_parser = endpoint_path)]
    endpoint: Option<String>,
    /// Let the client start `mcpproxy stdio` instead of using HTTP
    #[arg(long)]
    stdio: bool,
    /// Write an access token for the client into its file
    #[arg(long, requires = "clients", conflicts_with_all = ["project", "name", "endpoint", "stdio"])]
    token: bool,
    /// Show what would change, and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Disconnect; a file that you did not edit is restored exactly
    #[arg(long, conflicts_with_all = ["name", "endpoint", "stdio"])]
    undo: bool,
}

impl ConnectCommand {
    pub(super) async fn run(self, location: &Location, out: Output) -> Done {
        let names_none = self.clients.is_empty() && !self.all;
        let given = [
            (self.undo, "--undo"),
            (self.dry_run, "--dry-run"),
            (self.stdio, "--stdio"),
            (self.name.is_some(), "--name NAME"),
            (self.endpoint.is_some(), "--endpoint PATH"),
        ];
        let given = given.into_iter().find(|(is_given, _)| *is_given);
        if names_none && let Some((_, option)) = given {
            let what = format!("{option} needs a client");
            let next =
                format!("name one, such as `mcpproxy connect cursor {option}`, or give --all");
            return Err(CommandFailure::usage(what).next(next));
        }
        let files = location.files()?;
        if self.token {
            return self.change_tokens(&files, out).await;
        }
        let mut daemon = connection::open_if_running(&files, out).await?;
        let location = daemon.as_ref().and_then(connection::location_of);
        let places = home_places(&files)?;
        let us = our_address(&files, location.as_ref());
        let answers = match &location {
            Some(location) => location.url.is_some(),
            None => is_free(&us),
        };
        if names_none {
            let settings = files.settings_of_clients().ok();
            let list = ClientList {
                home: places.home().display().to_string(),
                clients: judged_rows(&places, &us, answers, settings.as_ref()),
            };
            return list::print(&list, daemon.is_some(), out);
        }
        if let Some(endpoint) = &self.endpoint {
            check_endpoint_exists(&files, daemon.as_mut(), endpoint).await?;
        }
        let reaching =
            Reaching::new(&files, location.as_ref(), us).or_undone("nothing was changed")?;
        let clients = self.chosen(&places, &reaching);
        if clients.is_empty() && self.undo {
            out.done("nothing was disconnected: no client is connected");
        } else if clients.is_empty() {
            return Err(CommandFailure::failed("no known client was found")
                .undone("nothing was connected")
                .next("name one: `mcpproxy connect claude-code` creates its file"));
        }
        let mut done = Vec::new();
        for client in clients {
            let outcome = self.change(&files, &places, &reaching, client, out).await;
            done.push((client, outcome));
        }
        let any_done = done.iter().any(|(_, outcome)| outcome.is_ok());
        if !answers && !self.undo && any_done {
            out.warning("mcpproxy cannot be reached at its port: `mcpproxy doctor`");
        }
        self.conclude(done, reaching.is_running, out)
    }

    /// `--token`: gives each client a token of its own, or revokes it.
    async fn change_tokens(&self, files: &Files, out: Output) -> Done {
        if self.undo && self.dry_run {
            let what = "--dry-run cannot be used with --token --undo";
            return Err(CommandFailure::usage(what).next("leave one of them out"));
        }
        // Only the daemon can change a client's entry and its token together.
        let mut daemon = connection::open_to_act(files, out, "nothing was changed").await?;
        for client in self.clients.iter().copied() {
            let method = if self.undo {
                Method::DELETE
            } else {
                Method::POST
            };
            change_own_token(&mut daemon, client, method, self.dry_run, out).await?;
        }
        Ok(())
    }

    /// The clients to connect or disconnect. `--all --undo` disconnects every client that has mcpproxy in its file, also one that is not
    /// installed any more.
    fn chosen(&self, places: &ClientPlaces, reaching: &Reaching) -> Vec<Client> {
        if !self.all {
            return self.clients.clone();
        }
        let is_chosen = |client: &Client| {
            if self.undo {
                may_be_connected(places, reaching, *client, self.project)
            } else {
                let file = places.file_to_connect(*client, self.project);
                file.is_some() && places.is_present(*client)
            }
        };
        Client::all().filter(is_chosen).collect()
    }

    /// Connects a client or disconnects it, and then revokes the tokens that were issued to it, unless its entry shows one. That does not
    /// depend on what its file says.
    async fn change(
        &self,
        files: &Files,
        places: &ClientPlaces,
        reaching: &Reaching,
        client: Client,
        out: Output,
    ) -> Done<Connected> {
        let request = ConnectRequest {
            client,
            is_for_project: self.project,
            file: None,
            name: self.name.as_deref(),
            endpoint: self.endpoint.as_deref(),
            by_process: self.stdio,
            is_dry: self.dry_run,
            spares_found: self.all,
        };
        let mut done = if self.undo {
            disconnect(places, reaching, &request, || ())
        } else {
            connect(places, reaching, &request)
        };
        if let Ok(done) = &done {
            say_done(done, places, out)?;
        }
        if self.undo && !self.project {
            let shown = shown_token(places, &reaching.us, client).filter(|_| !self.dry_run);
            let names = files.unused_tokens_of(client.id(), shown.as_ref()).await?;
            for name in &names {
                if self.dry_run {
                    out.note(&format!("would revoke its token {name:?}"));
                } else {
                    let mut daemon = connection::open_or_files(files, out).await?;
                    token::revoke(&mut daemon, name).await?;
                    out.done(&format!("revoked its token {name:?}"));
                }
            }
            if let (Ok(done), false) = (&mut done, self.dry_run) {
                done.revoked_tokens = names;
            }
        }
        let done = done?;
        if self.name.as_ref().is_some_and(|name| *name != done.name) {
            let (client, kept) = (client.name(), &done.name);
            out.note(&format!(
                "{client}'s entry keeps its name {kept:?}; --name is for a new entry"
            ));
        }
        Ok(done)
    }

    /// Prints the outcome of all clients for programs, or what is left to do for people.
    fn conclude(
        &self,
        done: Vec<(Client, Done<Connected>)>,
        is_running: bool,
        out: Output,
    ) -> Done {
        let failed = done.iter().filter(|(_, outcome)| outcome.is_err()).count();
        if out.is_json() {
            output::print_value(&file::report(&done))?;
        } else if failed < done.len() && !self.undo && !self.dry_run {
            let connected = done.iter().filter_map(|(_, outcome)| outcome.as_ref().ok());
            let connected: Vec<_> = connected.filter(|done| done.is_connected()).collect();
            file::say_hints(is_running, self.project, &connected, out);
        }
        let failures = done.into_iter().filter_map(|(_, outcome)| outcome.err());
        output::report_failures(failures.collect())
    }
}

/// Connects one client, and says so to people.
pub(super) fn connect_client(
    places: &ClientPlaces,
    reaching: &Reaching,
    request: &ConnectRequest<'_>,
    out: Output,
) -> Done<Connected> {
    let done = connect(places, reaching, request)?;
    say_done(&done, places, out)?;
    Ok(done)
}

/// Checks that the server or profile of an endpoint exists. The daemon may have a server that is not in the file: the demo server.
async fn check_endpoint_exists(
    files: &Files,
    daemon: Option<&mut DaemonClient>,
    endpoint: &str,
) -> Done {
    let servers = match daemon {
        Some(daemon) => daemon.fetch::<ServerList>("/api/v1/servers").await?.servers,
        None => Vec::new(),
    };
    let settings = files.supposed_settings()?.settings;
    let has_server = |name: &str| servers.iter().any(|server| server.name == name);
    Ok(check_endpoint(&settings, has_server, endpoint)?)
}
