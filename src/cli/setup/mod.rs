//! `mcpproxy setup`: from nothing to a connected client, step by step. Each step is what a command of its own does, too.

mod address;
mod clients;
mod daemon;
mod proof;
mod report;
mod servers;
mod words;

use std::time::Instant;

use clap::Args;

use self::{report::SetupReport, words::Choice};
use super::{
    config::CORRECT_THE_FILE,
    connection,
    failure::CommandFailure,
    import,
    location::Location,
    output::{self, Output},
};
use crate::{
    config::Listen,
    daemon_client::DaemonClient,
    management::{Management, OverFiles, StatusReport},
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

impl SetupCommand {
    pub(super) async fn run(self, location: &Location, out: Output) -> Result<(), CommandFailure> {
        let began = Instant::now();
        let taken = Choice::of(&self.import, self.yes, out);
        let connect = Choice::of(&self.connect, self.yes, out);
        clients::check(&connect)?;
        let listen = address::asked(self.listen.as_deref(), self.port)?;
        let files = location.files()?;
        if let Choice::Named(words) = &taken {
            import::check_words(&files, words)?;
        }
        let mut report = SetupReport::of(files.config_file());
        self.steps(&files, listen, &taken, &connect, &mut report, out)
            .await
            .map_err(|failure| match failure.next_step {
                Some(_) => failure,
                None => failure
                    .next("correct that, then run `mcpproxy setup` again: what was done stays"),
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
            address::check(listen, daemon)?;
        }
        if let Some(daemon) = &running
            && (listen.is_some() || !files.config_file().exists())
        {
            refuse_fault(daemon)?;
        }
        configuration(files, listen, report, out)?;
        servers::take_over(files, running, import, report, out).await?;
        let how = daemon::How::asked(self.service, self.no_service, self.yes, out);
        let mut daemon = daemon::started(files, how, report, out).await?;
        servers::wait_until_listed(&mut daemon, report, out).await?;
        clients::connect(files, &daemon, connect, report, out)?;
        proof::call(files, &daemon, report, out).await
    }
}

/// Says what a step did.
fn step(n: usize, text: &str, out: Output) {
    out.note(&format!("{n}/{STEPS} {text}"));
}

/// A file that a daemon has read more of, and that is gone or empty now, is not begun anew.
fn refuse_fault(daemon: &DaemonClient) -> Result<(), CommandFailure> {
    let status: Option<StatusReport> = serde_json::from_slice(daemon.status()).ok();
    match status.and_then(|status| status.config_error) {
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
    if let Some(listen) = listen
        && address::write(files, listen)?
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
        1 => "1 server".to_owned(),
        n => format!("{n} servers"),
    };
    let did = if is_new { "made" } else { "is there" };
    step(
        1,
        &format!("configuration {did}: {} ({has})", file.display()),
        out,
    );
    Ok(())
}
