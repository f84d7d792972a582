//! `mcpproxy connect`: puts us into the files of clients, takes us out of them, or says where we are.

mod file;
mod list;
mod own_token;

use clap::Args;

pub(super) use self::file::say_token;
use self::{file::say_done, own_token::own_token};
use super::{CommandFailure, Done, Location, Output, connection, output, token};
use crate::{
    clients::{
        Client, ClientList, ClientPlaces, ConnectRequest, Connected, Reaching, check_endpoint,
        client_of_word, client_rows, connect, disconnect, endpoint_path, entry_name, has_file,
        home_places, is_free, judged_rows, may_be_connected, our_address, shown_token,
    },
    daemon_client::DaemonClient,
    management::{DaemonLocation, Files, ServerList},
    text::secret::Secret,
};

/// Connect your AI clients, or show which are connected
///
/// mcpproxy keeps the comments and the order of a client's file, and saves a backup next to it.
#[derive(Debug, Args)]
#[command(after_long_help = format!("Clients: {}", Client::listed(Client::can_connect)))]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of the command line"
)]
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
    /// The name of the entry, `mcpproxy` by default
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

/// Connects one client or disconnects it, and revokes the token that was issued to it where its entry shows that no more.
async fn change(
    files: &Files,
    (places, reaching): (&ClientPlaces, &Reaching),
    request: &ConnectRequest<'_>,
    is_undo: bool,
    out: Output,
) -> Done<Connected> {
    let shown = || shown_token(places, &reaching.us, request.client);
    let before = shown().filter(|_| !request.is_for_project);
    let done = if is_undo {
        let done = disconnect(places, reaching, request)?;
        say_done(&done, places, out)?;
        done
    } else {
        put_in(places, reaching, request, out)?
    };
    let is_shown = |token: &Secret| shown().is_some_and(|now| now.reveal() == token.reveal());
    if let Some(token) = before.filter(|token| !is_shown(token))
        && let Some(name) = files.name_of_token(&token, Some(done.client.id()))?
    {
        let mut daemon = connection::open_or_files(files, out).await?;
        token::revoke(&mut daemon, &name).await?;
        out.done(&format!("revoked its token {name:?}"));
    }
    Ok(done)
}

/// Connects one client, and says so to people.
pub(super) fn put_in(
    places: &ClientPlaces,
    reaching: &Reaching,
    request: &ConnectRequest<'_>,
    out: Output,
) -> Done<Connected> {
    let done = connect(places, reaching, request)?;
    say_done(&done, places, out)?;
    Ok(done)
}

/// That clients of this machine know only the address where the daemon was, or still is, before it is at another.
pub(super) fn address_warnings(
    files: &Files,
    before: Option<&DaemonLocation>,
    after: Option<&DaemonLocation>,
) -> Vec<String> {
    let Ok(places) = home_places(files) else {
        return Vec::new();
    };
    let rows = |location| client_rows(&places, &our_address(files, location), true);
    let when = after.map_or("after the restart: ", |_| "");
    let (before, after) = (rows(before), rows(after));
    let rows = before.iter().zip(&after);
    let lost = rows.filter(|(before, after)| before.connected && !after.connected);
    lost.map(|(row, _)| {
        format!(
            "{} connects to the old address; {when}`mcpproxy connect {}`",
            row.title,
            row.client.id()
        )
    })
    .collect()
}

/// That there is what an endpoint names. The daemon may have a server that stands in no file, as the demo does.
async fn check_named(files: &Files, daemon: Option<&mut DaemonClient>, endpoint: &str) -> Done {
    let mut servers = Vec::new();
    if let Some(daemon) = daemon {
        let listed: ServerList = daemon.fetch("/api/v1/servers").await?;
        servers = listed.servers;
    }
    let settings = files.supposed_settings()?.settings;
    let has_server = |name: &str| servers.iter().any(|server| server.name == name);
    Ok(check_endpoint(&settings, has_server, endpoint)?)
}

impl ConnectCommand {
    pub(super) async fn run(self, location: &Location, out: Output) -> Done {
        if self.clients.is_empty() && !self.all && (self.undo || self.dry_run) {
            let option = if self.undo { "--undo" } else { "--dry-run" };
            let what = format!("{option} needs a client");
            let next =
                format!("name one, such as `mcpproxy connect cursor {option}`, or give --all");
            return Err(CommandFailure::usage(what).next(next));
        }
        let files = location.files()?;
        if self.token {
            // Only the daemon knows the file's entry and the token together.
            let mut daemon = connection::open_to_act(&files, out, "nothing was changed").await?;
            let location = connection::location_of(&daemon);
            let (places, us) = (home_places(&files)?, our_address(&files, location.as_ref()));
            let reaching = Reaching::new(&files, location.as_ref(), us)?;
            for client in self.clients {
                let is_connected = may_be_connected(&places, &reaching, client, false);
                if !is_connected && !self.undo && client.speaks_http() {
                    let request = ConnectRequest {
                        is_dry: self.dry_run,
                        ..ConnectRequest::usual(client)
                    };
                    let done = put_in(&places, &reaching, &request, out.quietly())?;
                    if !done.is_connected() {
                        say_done(&done, &places, out)?;
                        continue;
                    }
                }
                own_token(&mut daemon, client, self.undo, self.dry_run, out).await?;
            }
            return Ok(());
        }
        let daemon = connection::open_if_running(&files, out).await?;
        let location = daemon.as_ref().and_then(connection::location_of);
        let places = home_places(&files)?;
        let us = our_address(&files, location.as_ref());
        let answers = match &location {
            Some(location) => location.url.is_some(),
            None => is_free(&us),
        };
        if self.clients.is_empty() && !self.all {
            let list = ClientList {
                home: places.home().display().to_string(),
                clients: judged_rows(
                    &places,
                    &us,
                    answers,
                    files.settings_of_clients().ok().as_ref(),
                ),
            };
            return list::print(&list, daemon.is_some(), out);
        }
        let mut daemon = daemon;
        if let Some(endpoint) = &self.endpoint {
            check_named(&files, daemon.as_mut(), endpoint).await?;
        }
        let reaching = Reaching::new(&files, location.as_ref(), us).map_err(CommandFailure::from);
        let reaching = reaching.map_err(|failure| failure.undone("nothing was changed"))?;
        let clients = self.meant(&places, &reaching);
        if clients.is_empty() && self.undo {
            out.note("no client has mcpproxy in its file");
        } else if clients.is_empty() {
            return Err(CommandFailure::failed("no known client was found")
                .undone("nothing was connected")
                .next("name one, which creates its file: `mcpproxy connect claude-code`"));
        }
        let mut done = Vec::new();
        for client in clients {
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
            let at = (&places, &reaching);
            let outcome = change(&files, at, &request, self.undo, out).await;
            done.push((client, outcome));
        }
        let any_done = done.iter().any(|(_, outcome)| outcome.is_ok());
        if !answers && !self.undo && any_done {
            out.warning("mcpproxy cannot be reached at its port: `mcpproxy doctor`");
        }
        self.conclude(done, &reaching, out)
    }

    /// The clients that are meant. To be taken out there is nothing but where we are, whether the client is still here or not.
    fn meant(&self, places: &ClientPlaces, reaching: &Reaching) -> Vec<Client> {
        if !self.all {
            return self.clients.clone();
        }
        let is_meant = |client: &Client| {
            if self.undo {
                may_be_connected(places, reaching, *client, self.project)
            } else {
                has_file(places, *client, self.project) && places.is_present(*client)
            }
        };
        Client::all().filter(is_meant).collect()
    }

    fn conclude(
        &self,
        done: Vec<(Client, Done<Connected>)>,
        reaching: &Reaching,
        out: Output,
    ) -> Done {
        let failed = done.iter().filter(|(_, outcome)| outcome.is_err()).count();
        if out.is_json() {
            output::print_value(&file::report(&done))?;
        } else if failed < done.len() && !self.undo && !self.dry_run {
            let connected = done.iter().filter_map(|(_, outcome)| outcome.as_ref().ok());
            let connected = connected
                .filter(|done| done.is_connected())
                .map(|done| done.client);
            file::say_hints(reaching, &connected.collect::<Vec<Client>>(), out);
        }
        let failures = done.into_iter().filter_map(|(_, outcome)| outcome.err());
        output::overall(failures.collect())
    }
}
