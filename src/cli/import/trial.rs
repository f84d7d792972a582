//! `upstream add --check`: has the daemon start or contact each new server once, before anything is written.

use http::Method;
use serde_json::{Value, json};

use super::super::{CommandFailure, Done, Output};
use crate::{
    clients::ImportReport,
    daemon_client::{AnswerDeadline, DaemonClient},
    doctor::TriedServer,
    failure::NextStep,
};

/// Tries the chosen servers. Fails with the reasons of all that do not work; their output is shown as notes.
pub(super) async fn try_chosen(
    daemon: &mut DaemonClient,
    report: &ImportReport,
    out: Output,
) -> Done {
    let (mut whys, mut first_step) = (Vec::new(), None);
    for (_, name, mut entry) in report.entries(false) {
        out.progress(&format!("checking {name}"));
        let is_program = entry.contains_key("command");
        entry.insert("name".to_owned(), json!(name));
        let body = Value::Object(entry).to_string();
        let (path, deadline) = ("/api/v1/trial", AnswerDeadline::Upstream);
        let trying = daemon.request(Method::POST, path, body, deadline);
        let tried: TriedServer = trying.await?;
        if tried.works {
            continue;
        }
        if !tried.log.is_empty() {
            out.note(&format!("{name} wrote:\n{}", tried.log.join("\n")));
        }
        let again =
            |look: &str| format!("{look}; then run this again, or add {name} without --check");
        let step = match tried.step {
            Some(NextStep::LogIn) => format!(
                "`mcpproxy upstream add` without --check, then `mcpproxy upstream login {name}`"
            ),
            // There is no entry whose key could be corrected.
            Some(NextStep::FixEntry { key: Some(key), .. }) if *key == *"command" => {
                again("install it, or give the program's full path after `--`")
            }
            Some(NextStep::FixEntry { how: Some(how), .. }) => again(&how),
            // A fault of the server: another try would fail like this one.
            Some(NextStep::Act { how, .. }) => how.into(),
            Some(NextStep::FindType) => {
                again("check the path of its URL: most end in /mcp or /sse")
            }
            Some(NextStep::Wait) => again("wait a minute"),
            _ if !tried.log.is_empty() => again("correct that"),
            _ if is_program => again("run the command by hand to see what it does"),
            _ => again("check its URL"),
        };
        let reason = tried.reason.unwrap_or_default();
        let failure = CommandFailure::failed(reason).undone(&format!("{name} was not added"));
        whys.push(failure.in_words());
        first_step.get_or_insert(step);
    }
    match first_step {
        Some(step) => Err(CommandFailure::failed(whys.join("; ")).next(step)),
        None => Ok(()),
    }
}
