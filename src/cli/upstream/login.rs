//! `mcpproxy upstream login|logout`: logs in to a server with a browser of this machine or of another, and out again.

use std::io::{self, IsTerminal};

use clap::Args;
use http::Method;
use serde_json::json;
use tokio::io::{AsyncBufReadExt, BufReader};

use super::super::{CommandFailure, Done, Output, browser, connection, outcome, output};
use crate::{
    daemon_client::{AnswerDeadline, DaemonClient},
    failure::{ErrorCode, NextStep},
    management::{Files, LoginProgress, LoginStarted, ServerChange},
};

/// Log in to a server
///
/// Opens your browser and waits for the login. Without a browser, or with --no-browser, it prints the URL; open that URL on any machine. If
/// the browser ends up on a page that it cannot load, paste the URL of that page into the terminal.
#[derive(Debug, Args)]
pub(in crate::cli) struct LogIn {
    /// The server's name, as `upstream list` shows it
    name: String,
    /// Print the URL instead of opening the browser
    #[arg(long)]
    no_browser: bool,
}

/// Log out of a server
#[derive(Debug, Args)]
pub(in crate::cli) struct LogOut {
    /// The server's name, as `upstream list` shows it
    name: String,
}

/// Seconds that a request for the progress waits at the daemon.
const WAIT: u64 = 20;

/// Limit: bytes of a pasted line, which is a URL.
const LONGEST_LINE: u64 = 16 << 10;

impl LogIn {
    pub(super) async fn run(self, files: &Files, out: Output) -> Done {
        let outcome = format!("not logged in to {}", self.name);
        let mut daemon = connection::open_to_act(files, out, &outcome).await?;
        let path = connection::server_path(&self.name, "/login");
        let deadline = AnswerDeadline::Upstream;
        let started: LoginStarted = daemon.request(Method::POST, &path, "", deadline).await?;
        let opened = !self.no_browser && browser::open(&started.url).await;
        say(&started, opened, out)?;

        let pasting = !opened || !started.listens;
        let data_dir = files.data_dir().to_owned();
        let finished = if pasting {
            let mut second = DaemonClient::connect(&data_dir).await?;
            tokio::select! {
                finished = waited_for(&mut daemon, &path) => finished?,
                finished = self.pasted(&mut second, &path, &started, out) => finished?,
            }
        } else {
            waited_for(&mut daemon, &path).await?
        };
        if let LoginProgress::Failed { error, step } = finished {
            let name = &self.name;
            let again = || format!("`mcpproxy upstream login {name}` tries again");
            let step = step.map_or_else(again, |step| step.at_terminal(name));
            let failure = CommandFailure::failed(error).undone(&outcome).next(step);
            return Err(failure.of_code(Some(ErrorCode::LoginRequired)));
        }
        // Dropping a request has left its connection unusable.
        let mut daemon = DaemonClient::connect(&data_dir).await?;
        let server = outcome::wait_for(&mut daemon, &self.name, None).await?;
        if out.is_json() {
            return output::print_value(&json!({ "server": server }));
        }
        if server.step == Some(NextStep::LogIn) {
            let why = server.last_error.unwrap_or_default();
            let outcome = format!("logged in to {}, which refuses that login", self.name);
            let failure = CommandFailure::failed(why).undone(&outcome);
            return Err(failure.next("report this to the operator of the server"));
        }
        outcome::say(out, &daemon, "logged in to", &server);
        Ok(())
    }

    /// Reads pasted URLs until one ends the login. At the end of stdin it waits for ever, if a browser can still end the login.
    async fn pasted(
        &self,
        daemon: &mut DaemonClient,
        path: &str,
        started: &LoginStarted,
        out: Output,
    ) -> Done<LoginProgress> {
        let mut lines = BufReader::new(tokio::io::stdin());
        loop {
            let mut line = String::new();
            let mut limited = tokio::io::AsyncReadExt::take(&mut lines, LONGEST_LINE);
            let read = limited.read_line(&mut line).await;
            if !matches!(read, Ok(1..)) {
                if !started.listens {
                    let what = format!(
                        "not logged in to {}: stdin is closed, so no address can be pasted",
                        self.name
                    );
                    let step = format!("`mcpproxy upstream login {}` in a terminal", self.name);
                    return Err(CommandFailure::failed(what).next(step));
                }
                out.note("stdin is closed: a browser on this machine has to complete the login");
                return std::future::pending().await;
            }
            if line.trim().is_empty() {
                continue;
            }
            let body = output::as_json(&json!({ "redirect_url": line.trim() }))?;
            let deadline = AnswerDeadline::Upstream;
            match daemon.request(Method::POST, path, body, deadline).await {
                Ok(progress) => return Ok(progress),
                Err(error) => {
                    match daemon.fetch(path).await {
                        // The address was right, and what came of it is told once.
                        Ok(ended @ LoginProgress::Failed { .. }) => return Ok(ended),
                        _ => out.warning(&format!("that address was not accepted: {error}")),
                    }
                }
            }
        }
    }
}

impl LogOut {
    pub(super) async fn run(self, files: &Files, out: Output) -> Done {
        let outcome = format!("not logged out of {}", self.name);
        let mut daemon = connection::open_to_act(files, out, &outcome).await?;
        let path = connection::server_path(&self.name, "/logout");
        let answer = daemon.ask(Method::POST, &path, "").await?;
        let name = self.name;
        out.answer(&path, &answer, |change: ServerChange| {
            if change.changed.is_empty() {
                out.note(&format!("nothing was changed: not logged in to {name}"));
            } else {
                out.done(&format!("logged out of {name}; its tokens were deleted"));
            }
            Ok(())
        })
    }
}

/// Waits for the end of the login, by a browser or a pasted URL.
async fn waited_for(daemon: &mut DaemonClient, path: &str) -> Done<LoginProgress> {
    let question = format!("{path}?wait={WAIT}");
    loop {
        let deadline = AnswerDeadline::Upstream;
        let progress = daemon.request(Method::GET, &question, "", deadline).await?;
        if progress != LoginProgress::Waiting {
            return Ok(progress);
        }
    }
}

/// Says which URL to open. For programs it is a JSON document of its own, before the one with the outcome.
fn say(started: &LoginStarted, opened: bool, out: Output) -> Done {
    if out.is_json() {
        return output::print_value(started);
    }
    if opened {
        let url = &started.url;
        out.note(&format!("opened your browser; if nothing opened: {url}"));
        if !started.listens {
            say_how_to_end(out);
        }
        return Ok(());
    }
    output::print_line(&format!("{}\n", started.url))?;
    out.note("open this address and log in");
    say_how_to_end(out);
    Ok(())
}

/// Says how to end the login if the browser cannot reach this machine.
fn say_how_to_end(out: Output) {
    let how = if io::stdin().is_terminal() {
        "paste that page's address here"
    } else {
        "write that page's address to this command's stdin"
    };
    out.note(&format!(
        "if the browser's last page does not load, {how} (the login waits for 10 min)"
    ));
}
