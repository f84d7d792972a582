//! Servers from a pasted text: JSON, a command or a URL, as servers' pages have it.

use std::env;

use serde_json::{Map, Value};

use super::{
    super::{
        CommandFailure, Done, OrUndone, Output, connection,
        failure::{FAILED, USAGE},
        input::Input,
        outcome, output,
    },
    add, say_needs, trial, values, verdict,
};
use crate::{
    clients::{self, CORRECT_PASTED, FoundOutcome, FoundServer, ImportReport, PASTE, our_address},
    daemon_client::DaemonClient,
    management::Files,
};

/// The step for an entry with a placeholder.
const GIVE_VALUE: &str =
    "replace it with your value, or run this command in a terminal, which asks for it";

/// The step for a pasted text with a placeholder.
pub(super) const GIVE_PASTED: &str = "replace it in the text, or run `mcpproxy upstream add --json \"$(cat FILE)\"` in a terminal, which asks for it";

/// The servers in a pasted text, as [`gather`](super::gather) gives those in files.
pub(super) fn gather_pasted(
    files: &Files,
    daemon: &DaemonClient,
    text: &str,
    name: Option<&str>,
) -> Done<ImportReport> {
    let us = our_address(files, connection::location_of(daemon).as_ref());
    let here = env::current_dir().ok();
    let text = (text, here.as_deref());
    Ok(clients::gather_pasted(files, &us, text, name)?)
}

/// The servers in a pasted text, or on stdin if it is `-`. All new ones are chosen.
pub(in crate::cli) fn read_pasted(
    files: &Files,
    daemon: &DaemonClient,
    text: &str,
    name: Option<&str>,
) -> Done<ImportReport> {
    let text = match text {
        "-" => Input::Stdin.read("the server's JSON or URL")?,
        text => text.to_owned(),
    };
    let report = gather_pasted(files, daemon, &text, name);
    let mut report = report.or_undone("nothing was added")?;
    let new = report.picked(&[])?;
    report.choose(&new);
    Ok(report)
}

/// Fills in placeholders of the chosen servers, tries the servers if `is_checked`, and then stores their secrets.
pub(in crate::cli) async fn fill_in(
    files: &Files,
    daemon: &mut DaemonClient,
    report: &mut ImportReport,
    is_checked: bool,
    secrets: Option<values::SecretsPlace>,
    out: Output,
) -> Done {
    values::fill_placeholders(files, report, out);
    if is_checked {
        trial::try_chosen(daemon, report, out).await?;
    }
    values::keep_secrets(files, report, secrets, out)
}

/// Adds the chosen servers of a pasted text.
pub(in crate::cli) async fn add_pasted(
    mut daemon: DaemonClient,
    mut report: ImportReport,
    is_held: bool,
    out: Output,
) -> Done {
    for (_, name, entry) in report.entries(is_held) {
        if let Some(cwd) = entry.get("cwd").and_then(Value::as_str) {
            let step = format!("`mcpproxy upstream patch {name} cwd=DIR` changes that");
            out.note(&format!("{name} starts in {cwd}; {step}"));
        }
    }
    for server in report.servers.iter().filter(|server| server.chosen) {
        if let Some(gets) = server.gets() {
            out.note(&format!("{} {gets}", server.written_name));
        }
    }
    add(&mut daemon, &mut report, is_held).await?;
    if out.is_json() {
        output::print_value(&report)?;
    } else {
        say_needs(&report, true, out);
        if report.imported > 0 {
            let left_out = not_added(&report, |server| !server.chosen);
            left_out.for_each(|why| out.warning(&why));
        }
        for server in report.taken() {
            let name = server.new_name().unwrap_or_default();
            if let Some(why) = &server.reason {
                out.note(&format!("{why}; this one is {name}"));
            }
            let row = outcome::wait_for(&mut daemon, name, None).await?;
            outcome::say(out, &daemon, "added", &row);
        }
    }
    if report.imported == 0 {
        return Err(nothing_added(&report, out));
    }
    verdict(&report, out)
}

/// The failure where none of the servers was added. Whoever skipped the question for a value needs no step.
fn nothing_added(report: &ImportReport, out: Output) -> CommandFailure {
    let servers = &report.servers;
    let lacks_value = servers.iter().any(|one| !one.placeholders.is_empty());
    let mut outcomes = servers.iter().map(|server| server.outcome);
    let is_wrong = lacks_value || outcomes.any(|one| one == FoundOutcome::Unusable);
    let same = servers.iter().find(|server| server.is_here_as_it_is());
    let step = match same.and_then(|server| server.name.as_deref()) {
        Some(same) => format!("`mcpproxy upstream show {same}`"),
        None if lacks_value => GIVE_PASTED.to_owned(),
        None if is_wrong => CORRECT_PASTED.to_owned(),
        None => PASTE.to_owned(),
    };
    let whys = if servers.is_empty() {
        "nothing was added: the text has no server".to_owned()
    } else {
        not_added(report, |_| true).collect::<Vec<_>>().join("; ")
    };
    let exit_code = if is_wrong { USAGE } else { FAILED };
    let failure = CommandFailure::with_code(whys, exit_code);
    let is_skipped = lacks_value && out.is_interactive();
    failure.next_if((!is_skipped).then_some(step)).shown()
}

/// Why each of these servers was not added.
fn not_added(
    report: &ImportReport,
    are_meant: impl Fn(&FoundServer) -> bool,
) -> impl Iterator<Item = String> {
    let meant = report.servers.iter();
    let meant = meant.filter(move |server| are_meant(server));
    meant.map(|server| {
        let (name, why) = (&server.written_name, server.why_not());
        format!("{name} was not added: {why}")
    })
}

/// The entry of a report on one server, with the values of its placeholders.
pub(in crate::cli) fn only_entry(report: ImportReport, out: Output) -> Done<Map<String, Value>> {
    let Some(server) = report.servers.into_iter().next() else {
        return Ok(Map::new());
    };
    server.into_entry().map_err(|why| {
        let failure = CommandFailure::usage(why).undone("nothing was added");
        let step = (!out.is_interactive()).then(|| GIVE_VALUE.to_owned());
        failure.next_if(step)
    })
}
