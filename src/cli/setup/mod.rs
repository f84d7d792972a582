//! `mcpproxy setup`: from nothing to a connected client, step by step. Each step is what a command of its own does, too.

mod choice;
mod proof;
mod report;

use std::time::Instant;

use clap::Args;
use serde_json::json;

use self::{
    choice::Choice,
    report::{DaemonRow, SetupReport},
};
use super::{
    background::Starter,
    config::CORRECT_THE_FILE,
    connect, connection,
    failure::CommandFailure,
    import,
    location::Location,
    output::{self, Output},
    service,
};
use crate::{
    clients::{
        Client, ClientRow, ConnectRequest, ImportReport, Reaching, client_of_word, client_rows,
        home_places, our_address,
    },
    config::{self, EditError, Listen},
    daemon_client::{DaemonClient, bridge::BridgeHost},
    doctor,
    management::{Management, OverFiles},
};

/// From nothing to a connected client in a minute: takes over servers, starts the daemon, connects clients, and makes a call
///
/// On a terminal it asks before each step; --yes does everything that can be done without questions. It can be run again at any time:
/// what is done already is left alone.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(super) struct SetupCommand {
    /// Whose servers to take over: a client, a file, `all` or `none`; may be repeated
    #[arg(long, value_name = "CLIENT|FILE|all|none")]
    import: Vec<String>,
    /// Which client to connect, or `all` that are found, or `none`; may be repeated
    #[arg(long, value_name = "CLIENT|all|none")]
    connect: Vec<String>,
    /// The port of the daemon on 127.0.0.1, instead of 8080 or the configuration's; it is written to the configuration
    #[arg(long, value_name = "PORT", conflicts_with = "listen")]
    port: Option<u16>,
    /// The same as an address of this machine, such as `[::1]:8081`
    #[arg(long, value_name = "ADDR")]
    listen: Option<String>,
    /// Start the daemon at every login, as `mcpproxy service install` does
    #[arg(long, conflicts_with = "no_service")]
    service: bool,
    /// Start the daemon in the background now, and not at every login
    #[arg(long)]
    no_service: bool,
    /// Do not ask: take over everything, connect every client that is found
    #[arg(short, long)]
    yes: bool,
}

const EXAMPLES: &str = "\
Examples:
  mcpproxy setup                                    guided
  mcpproxy setup --yes                              everything that is found, without questions
  mcpproxy setup --import cursor --connect claude-code --service
  mcpproxy setup --import none --connect codex      nothing taken over, one client
  mcpproxy setup --port 8081                        where another program has 8080";

/// What a new configuration says.
const BEGINNING: &str = "\
{
  // The servers behind mcpproxy: `mcpproxy upstream add` and `mcpproxy import` write here, too.
  \"mcpServers\": {}
}
";

/// How many steps there are.
const STEPS: usize = 5;

/// Says what a step did.
fn step(n: usize, text: &str, out: Output) {
    out.note(&format!("{n}/{STEPS} {text}"));
}

impl SetupCommand {
    pub(super) async fn run(self, location: &Location, out: Output) -> Result<(), CommandFailure> {
        let began = Instant::now();
        let taken = Choice::of(&self.import, self.yes, out);
        let connect = Choice::of(&self.connect, self.yes, out);
        let listen = chosen_address(self.listen.as_deref(), self.port)?;
        let files = location.files()?;
        if let Choice::Named(words) = &connect {
            for word in words {
                let unknown = |known| format!("--connect {word}: no such client; {known}");
                client_of_word(word).map_err(|known| CommandFailure::usage(unknown(known)))?;
            }
        }
        if let Choice::Named(words) = &taken {
            import::check_words(&files, words)?;
        }
        let mut report = SetupReport::of(files.config_file());
        let steps = self.steps(&files, listen, &taken, &connect, &mut report, out);
        steps.await.map_err(|failure| match failure.next_step {
            Some(_) => failure,
            None => {
                failure.next("correct that, then run `mcpproxy setup` again: what was done stays")
            }
        })?;
        report.finish(began.elapsed());
        if out.is_json() {
            return output::json(&output::as_json(&report)?);
        }
        report.say_end(out);
        Ok(())
    }

    async fn steps(
        &self,
        files: &Management<OverFiles>,
        listen: Option<Listen>,
        import: &Choice,
        connect: &Choice,
        report: &mut SetupReport,
        out: Output,
    ) -> Result<(), CommandFailure> {
        let running = connection::open_if_running(files, out).await?;
        if let (Some(listen), Some(daemon)) = (listen, &running) {
            check_address(listen, daemon)?;
        }
        if let Some(daemon) = &running
            && (listen.is_some() || !files.config_file().exists())
        {
            refuse_fault(daemon)?;
        }
        configuration(files, listen, report, out)?;
        take_over(files, running, import, report, out).await?;
        let mut daemon = self.daemon(files, report, out).await?;
        proof::wait_until_listed(&mut daemon, report, out).await?;
        connect_clients(files, &daemon, connect, report, out)?;
        proof::call(files, &daemon, report, out).await
    }

    /// The daemon: the one that runs, or a new one, as a service or in the background.
    async fn daemon(
        &self,
        files: &Management<OverFiles>,
        report: &mut SetupReport,
        out: Output,
    ) -> Result<DaemonClient, CommandFailure> {
        if let Some(daemon) = connection::open_if_running(files, out).await? {
            return reachable(files, daemon, ("running", "runs already"), report, out).await;
        }
        let asks = !self.no_service && !self.yes && out.is_interactive();
        let is_service = self.service || asks && out.asks("Start mcpproxy at every login?");
        if is_service {
            out.progress("installing the service");
            let installed = service::install(files).await?;
            report.next_steps.extend(installed.next_steps);
            if installed.is_started {
                let daemon = connection::open_soon(files, out).await?;
                let how = ("service", "runs as a service, at every login");
                return reachable(files, daemon, how, report, out).await;
            }
            out.note("the service manager did not start it from here, so it is started in the background for now");
        }
        out.progress("starting the daemon");
        let starter = Starter::lasting(files.places().clone(), files.data_dir().to_owned(), out);
        starter.start_daemon().await.map_err(|why| {
            CommandFailure::failed(why)
                .next("`mcpproxy doctor` says what is wrong; then run `mcpproxy setup` again")
        })?;
        let daemon = connection::open_soon(files, out).await?;
        if !is_service {
            let later = "`mcpproxy service install` starts the daemon at every login";
            report.next_steps.push(later.to_owned());
        }
        let how = ("background", "runs in the background");
        reachable(files, daemon, how, report, out).await
    }
}

/// The daemon, if clients can reach it.
async fn reachable(
    files: &Management<OverFiles>,
    daemon: DaemonClient,
    (how, did): (&'static str, &str),
    report: &mut SetupReport,
    out: Output,
) -> Result<DaemonClient, CommandFailure> {
    let status = daemon.status_report();
    let Some((url, pid)) = status.and_then(|status| Some((status.location.url?, status.pid)))
    else {
        return Err(without_http(files).await);
    };
    step(3, &format!("daemon {did}: {url}"), out);
    report.daemon = Some(DaemonRow { how, url, pid });
    Ok(daemon)
}

/// That no client would reach the daemon that runs.
async fn without_http(files: &Management<OverFiles>) -> CommandFailure {
    let settings = files.supposed_settings().map(|found| found.settings);
    let listen = settings.unwrap_or_default().listen;
    let who = doctor::who_has(listen).await;
    let file = files.config_file().display();
    let another = listen.port().checked_add(1).unwrap_or(8081);
    CommandFailure::failed(format!(
        "the daemon runs and serves its local socket only, so no client can connect to {listen}: {who}"
    ))
    .next(format!(
        "`mcpproxy stop`, because a daemon takes its port at its start only; then `mcpproxy setup --port {another}`, which writes \"listen\" to {file}, or, once nobody has the port, `mcpproxy setup` again. What was done stays"
    ))
}

/// The address in the arguments.
fn chosen_address(
    listen: Option<&str>,
    port: Option<u16>,
) -> Result<Option<Listen>, CommandFailure> {
    let port = port.map(|port| format!("127.0.0.1:{port}"));
    let Some(text) = listen.map(str::to_owned).or(port) else {
        return Ok(None);
    };
    let listen: Listen = text
        .parse()
        .map_err(|bad: config::BadListen| CommandFailure::usage(bad.to_string()))?;
    if listen.port() == 0 {
        let what = "port 0 is another one at every start of the daemon, and the files of clients name one address";
        return Err(CommandFailure::usage(what).next("name a port that is free, such as 8081"));
    }
    if !listen.is_loopback() {
        let what = format!(
            "{listen} can be reached from other machines, and everything sent there is plain text"
        );
        return Err(CommandFailure::usage(what)
            .next("set up on 127.0.0.1; docs/operations.md says how to serve a team"));
    }
    Ok(Some(listen))
}

/// Refuses another address than that of a daemon that runs: it would be in force at its next start only, and clients would be connected to
/// an address where nobody is.
fn check_address(listen: Listen, running: &DaemonClient) -> Result<(), CommandFailure> {
    let location = import::location_of(running);
    let ending = format!(":{}", listen.port());
    let mut listens = location.iter().flat_map(|location| &location.listen);
    if listens.any(|address| address.ends_with(&ending)) {
        return Ok(());
    }
    let at = location.and_then(|location| location.url);
    let at = at.unwrap_or_else(|| "its local socket only".to_owned());
    Err(CommandFailure::failed(format!(
        "the daemon runs already, at {at}, and an address is in force from its start on"
    ))
    .next(format!(
        "`mcpproxy stop`, then run `mcpproxy setup` with {listen} again"
    )))
}

/// A file that a daemon has read more of, and that is gone or empty now, is not begun anew.
fn refuse_fault(daemon: &DaemonClient) -> Result<(), CommandFailure> {
    match daemon
        .status_report()
        .and_then(|status| status.config_error)
    {
        Some(error) => Err(CommandFailure::failed(error).next(CORRECT_THE_FILE)),
        None => Ok(()),
    }
}

fn configuration(
    files: &Management<OverFiles>,
    listen: Option<Listen>,
    report: &mut SetupReport,
    out: Output,
) -> Result<(), CommandFailure> {
    let file = files.config_file();
    let is_new = !file.exists();
    if is_new {
        let begin = |text: &str| {
            let is_empty = text.trim().is_empty();
            Ok(if is_empty { BEGINNING } else { text }.to_owned())
        };
        files.rewrite_text(begin).map_err(CommandFailure::from)?;
    }
    let write = |key: &str, listen: Listen| {
        let put = |text: &str| {
            let written = config::json_with(text, &[key.to_owned()], &json!(listen.to_string()));
            written.map_err(EditError::from)?.ok_or(EditError::NoKey)
        };
        files.rewrite_text(put).map_err(CommandFailure::from)
    };
    // Written down, so that whatever starts the daemon later, and whatever connects to it, goes by the same one.
    if let Some(listen) = listen
        && write("listen", listen)?
    {
        out.note(&format!("\"listen\" is {listen} in {} now", file.display()));
    }
    // Whatever refers to secrets is looked at when it is used.
    let settings = files.supposed_settings().map_err(CommandFailure::from)?;
    let settings = settings.settings;
    report.config_created = is_new;
    let n = settings.servers.len() + settings.broken.len();
    let has = match n {
        0 => "no server yet".to_owned(),
        n => output::count(n, "server"),
    };
    let did = if is_new { "made" } else { "is there" };
    step(
        1,
        &format!("configuration {did}: {} ({has})", file.display()),
        out,
    );
    Ok(())
}

/// Takes servers over.
async fn take_over(
    files: &Management<OverFiles>,
    daemon: Option<DaemonClient>,
    choice: &Choice,
    report: &mut SetupReport,
    out: Output,
) -> Result<(), CommandFailure> {
    let from: &[String] = match choice {
        Choice::Nothing => {
            step(
                2,
                "servers: nothing is taken over; `mcpproxy import` does that at any time",
                out,
            );
            return Ok(());
        }
        Choice::All | Choice::Undecided | Choice::Ask => &[],
        Choice::Named(words) => words,
    };
    let mut daemon = daemon.unwrap_or_else(|| DaemonClient::over_files(files.clone()));
    let mut found = import::gather(files, &daemon, from)?;
    let mut chosen = found.picked(&[])?;
    let offered = chosen.len();
    if !out.is_json() {
        import::say_faults(&found, out);
    }
    if *choice == Choice::Undecided {
        report.offer(offered);
        chosen.clear();
    } else if *choice == Choice::Ask && offered > 0 {
        import::show_table(&found)?;
        chosen = import::pick(&chosen, out);
    }
    found.choose(&chosen);
    import::add(&mut daemon, &mut found, false, out).await;
    import::say_readable(files.config_file(), &found, out);
    if !out.is_json() {
        import::say_needs(&found, true, out);
    }
    for server in found.servers.iter().filter(|server| server.chosen) {
        let name = server.new_name().unwrap_or_default().to_owned();
        if server.imported {
            report.imported.push(name);
        } else {
            report.not_imported.push(name);
        }
    }
    say(&found, offered, report, out);
    Ok(())
}

fn say(found: &ImportReport, offered: usize, report: &mut SetupReport, out: Output) {
    let n_files = found.files.len();
    let files = match n_files {
        1 => "1 file of another program".to_owned(),
        n => format!("{n} files of other programs"),
    };
    if !report.imported.is_empty() {
        report.next_steps.push(
            "the servers that were taken over still stand in the files of their clients, which start them a second time: take them out there; `mcpproxy doctor` names them file by file".to_owned(),
        );
    }
    let text = match report.imported.as_slice() {
        [] if n_files == 0 => {
            "servers: no other program has any here; `mcpproxy upstream add` adds one".to_owned()
        }
        [] if found.servers.is_empty() => {
            format!(
                "servers: nothing to take over was found in {files}; `mcpproxy upstream add` adds one"
            )
        }
        [] if offered > 0 => format!(
            "servers: none was taken over; {offered} could be: `mcpproxy import` offers them at any time"
        ),
        [] => format!("servers: nothing new in {files}"),
        names => format!(
            "servers: {} taken over from {files}: {}",
            names.len(),
            names.join(", ")
        ),
    };
    step(2, &text, out);
}

/// Connects the clients that are meant.
fn connect_clients(
    files: &Management<OverFiles>,
    daemon: &DaemonClient,
    choice: &Choice,
    report: &mut SetupReport,
    out: Output,
) -> Result<(), CommandFailure> {
    let places = home_places()?;
    let location = import::location_of(daemon);
    let us = our_address(files, location.as_ref());
    let mut rows = client_rows(&places, &us, true);
    rows.retain(|row| match choice {
        Choice::Nothing | Choice::Undecided => false,
        Choice::All => row.found,
        Choice::Named(words) => {
            let mut named = words.iter().filter_map(|word| Client::from_word(word));
            named.any(|client| client == row.client)
        }
        Choice::Ask => row.found && (row.connected || is_wanted(row, out)),
    });
    let reaching = Reaching::new(files, location.as_ref(), us)?;
    let mut names = Vec::new();
    for row in rows {
        let usual = ConnectRequest::usual(row.client);
        match connect::put_in(&places, &reaching, &usual, out) {
            Ok(done) => {
                names.push(row.title);
                report.clients.push(done);
            }
            Err(failure) => {
                let step = failure.next_step.unwrap_or_default();
                out.warning(&format!("{}; next step: {step}", failure.what));
                report.not_connected.push(row.client);
            }
        }
    }
    if !out.is_json() {
        connect::say_token(&reaching, &report.connected(), out);
    }
    let text = if names.is_empty() {
        "clients: none was connected; `mcpproxy connect` lists them and connects them at any time"
            .to_owned()
    } else {
        let anew = "start your clients anew, so that they read their files";
        report.next_steps.insert(0, anew.to_owned());
        format!("clients: {} connected", names.join(", "))
    };
    step(4, &text, out);
    Ok(())
}

fn is_wanted(row: &ClientRow, out: Output) -> bool {
    let question = format!("Connect {} ({})? [Y/n]", row.title, row.file);
    let answer = out
        .answer_to(&question)
        .map(|answer| answer.trim().to_ascii_lowercase());
    matches!(answer.as_deref(), Some("" | "y" | "yes"))
}
