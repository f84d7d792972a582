//! `mcpproxy upstream inspect`: shows what to review of a server before approving it.

use clap::Args;
use http::Method;

use super::{
    super::{
        CommandFailure, Done, Output, connection, escapes::visible, outcome::LONG_CONNECT_TIMEOUT,
        output,
    },
    review::{looks_dangerous, print_server, print_things, summarize},
    review_step::{ReviewStep, argument_of},
};
use crate::{
    daemon_client::{self, AnswerDeadline},
    failure::NextStep,
    management::{Files, Inspection},
    text::names::as_argument,
    trust::approvals::ThingKind,
};

/// Review a server and its held definitions
///
/// Contacts no server, except with --connect.
#[derive(Debug, Args)]
pub(in crate::cli) struct InspectServer {
    /// The server's name, as `upstream list` shows it
    name: String,
    /// Connect to a quarantined server to list its tools; call none
    #[arg(long)]
    pub(in crate::cli) connect: bool,
}

impl InspectServer {
    pub(super) async fn run(self, files: &Files, out: Output) -> Done {
        let path = connection::server_path(&self.name, "/inspect");
        let body = if self.connect {
            let mut daemon = connection::open_to_act(files, out, "nothing was inspected").await?;
            let path = format!("{path}?wait={LONG_CONNECT_TIMEOUT}");
            let deadline = AnswerDeadline::Upstream;
            daemon.send(Method::POST, &path, "", deadline).await?
        } else {
            let mut daemon = connection::open_to_show(files, out).await?;
            daemon.get(&path).await?
        };
        let inspection: Inspection = daemon_client::read(&path, &body)?;
        if out.is_json() {
            output::print_json(&body)?;
        } else {
            print(&inspection, self.connect)?;
        }
        if !self.connect {
            return Ok(());
        }
        if !inspection.server.awaits_approval() {
            let step = if inspection.server.is_disabled() {
                NextStep::Enable
            } else {
                NextStep::Restart
            };
            out.note("--connect is only for quarantined servers");
            out.next(&step.at_terminal(&inspection.server.name));
        }
        check_contact(&inspection)
    }
}

/// Fails if the server could not be listed, also after everything known was shown.
fn check_contact(inspection: &Inspection) -> Done {
    let Some(why) = &inspection.contact_error else {
        return Ok(());
    };
    let (row, name) = (&inspection.server, &inspection.server.name);
    let off = row.is_disabled().then_some("it is disabled");
    let why = off.or(row.last_error.as_deref()).unwrap_or(why);
    let failure = CommandFailure::failed(visible(why));
    let failure = failure.undone(&format!("the tools of {name} were not listed"));
    Err(failure.next_if(row.next_step.clone()))
}

fn print(inspection: &Inspection, connects: bool) -> Done {
    print_server(inspection)?;
    print_things(inspection, |_| true)?;
    let step = ReviewStep::of(inspection);
    if connects && matches!(step, ReviewStep::Mend(_)) {
        // The failure of the command says it.
        return Ok(());
    }
    output::print_line("")?;
    if inspection.inspected {
        output::print_line(&summarize(inspection))?;
    }
    output::print_line(&output::as_typed(&step.in_words(inspection)))?;
    match refusal(inspection) {
        Some(refusal) => output::print_line(&output::as_typed(&refusal)),
        None => Ok(()),
    }
}

/// The other answer to a review in which something looks dangerous.
fn refusal(inspection: &Inspection) -> Option<String> {
    let server = &inspection.server;
    let held = inspection.things.iter().filter(|thing| thing.held);
    let mut dangerous = held.filter(|thing| looks_dangerous(&thing.findings));
    let first = dangerous.next().filter(|_| !server.is_disabled())?;
    let name = as_argument(&server.name);
    let is_one_tool = first.kind == ThingKind::Tool && dangerous.next().is_none();
    let tool = argument_of(first).filter(|_| is_one_tool && !server.awaits_approval());
    let tool = tool.map(|tool| format!("`mcpproxy tools disable {name}:{tool}` or "));
    let tool = tool.unwrap_or_default();
    Some(format!(
        "to refuse: {tool}`mcpproxy upstream disable {name}`"
    ))
}
