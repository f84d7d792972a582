//! `mcpproxy upstream show`: shows one server with its entry, without cutting texts.

use clap::Args;

use super::{
    super::{Done, Output, connection, output},
    list::{state, tools},
};
use crate::{
    config::DemoOrigin,
    failure::NextStep,
    management::{Files, ServerDetails},
};

/// Show one server and its entry
#[derive(Debug, Args)]
pub(in crate::cli) struct ShowServer {
    /// The server's name, as `upstream list` shows it
    name: String,
}

impl ShowServer {
    pub(super) async fn run(self, files: &Files, out: Output) -> Done {
        let path = connection::server_path(&self.name, "");
        let mut daemon = connection::open_to_show(files, out).await?;
        let body = daemon.get(&path).await?;
        out.answer(&path, &body, print)
    }
}

/// Why the demo server has no entry.
fn not_in_file(origin: DemoOrigin) -> String {
    let came = match origin {
        DemoOrigin::CommandLine => "`mcpproxy serve --demo` adds it",
        DemoOrigin::Request => "it was started in the web UI or over REST",
    };
    format!("no, the bundled demo server: {came}")
}

fn print(details: ServerDetails) -> Done {
    let server = details.server;
    let left_out = server.left_out.as_ref().map(ToString::to_string);
    let next = match server.step {
        // The step of others is this command.
        Some(NextStep::RunByHand) => Some("run its command by hand to see why".to_owned()),
        _ => server.next_step.as_deref().map(output::as_typed),
    };
    let facts = [
        ("name", Some(server.name.clone())),
        ("transport", server.transport.map(|kind| kind.to_string())),
        ("state", Some(state(&server))),
        ("in the file", server.demo.map(not_in_file)),
        ("tools", tools(&server)),
        ("left out", left_out),
        ("writes", server.last_output),
        ("error", server.last_error),
        ("next", next),
        ("log", details.log_file.map(|log| log.display().to_string())),
    ];
    let facts = facts.into_iter();
    output::print_facts(facts.filter_map(|(name, value)| Some((name, value?))))?;
    match details.entry {
        Some(entry) => output::print_value(&entry),
        None => Ok(()),
    }
}
