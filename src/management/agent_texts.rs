//! Texts for agents about servers and failures: next steps that an agent can take, and log lines without secrets and control characters.
//! Pure.

use super::{ServerRow, ServerState};
use crate::{
    config::TransportKind,
    failure::{ErrorCode, Failure, NextStep},
    text::{Secrets, one_line},
};

/// Limit: bytes of a line.
const LONGEST_LINE: usize = 2_000;

/// Limit: bytes of all lines together.
const MOST: usize = 64 << 10;

/// What an agent can do about a failure whose hint is for people.
fn hint(code: ErrorCode) -> Option<&'static str> {
    Some(match code {
        ErrorCode::ConfigUnusable => {
            "Nothing was changed. Ask the user to look at the configuration file."
        }
        ErrorCode::ServerExists => "Choose another name. The operation \"list\" names the servers.",
        ErrorCode::UnknownServer => "Use the operation \"list\" to see the servers.",
        ErrorCode::ServerUnavailable | ErrorCode::ConnectionLost | ErrorCode::TimedOut => {
            "Check its state with the operation \"list\"; tell the user if it stays down."
        }
        ErrorCode::ServerDisabled => "Enable it, if the user wants that.",
        ErrorCode::ServerQuarantined => "Tell the user that it awaits their review.",
        ErrorCode::ServerMisconfigured => "Tell the user that its entry cannot be used.",
        ErrorCode::Internal => "Tell the user.",
        _ => return None,
    })
}

/// A failure in words for an agent: without commands and paths of this machine.
pub(super) fn for_agent(mut failure: Failure) -> Failure {
    if failure.code == ErrorCode::ConfigUnusable {
        "the configuration file cannot be used".clone_into(&mut failure.error);
    }
    if let Some(words) = hint(failure.code) {
        failure.hint = Failure::agents_only(failure.code, "", words).hint;
    }
    failure
}

/// What an agent may do itself about a server that fails.
#[derive(Clone, Copy)]
pub(super) struct AgentMeans {
    pub(super) reads_logs: bool,
    pub(super) restarts: bool,
}

/// What an agent can do about a server, or ask the user to do.
pub(super) fn next_step_for_agent(
    row: &ServerRow,
    refused: Option<Failure>,
    has_failed: bool,
    means: AgentMeans,
) -> Option<String> {
    let step = row.step.as_ref().filter(|_| row.unusable);
    if let Some(thing) = step.and_then(NextStep::lacking) {
        return Some(format!(
            "Tell the user that it lacks {thing}; continue without it."
        ));
    }
    if let Some(failure) = refused {
        return Some(match failure.code {
            ErrorCode::ServerDisabled if !means.restarts => {
                "Tell the user that it is disabled; continue without it.".to_owned()
            }
            _ => for_agent(failure).hint.advice(),
        });
    }
    if row.state == ServerState::Authenticating {
        let name = &row.name;
        return Some(format!(
            "Ask the user to log in to {name}; continue without it."
        ));
    }
    if !has_failed {
        let step = "Tell the user that some of its definitions are held and await approval.";
        return row.held.map(|_| step.to_owned());
    }
    if !row.is_failing() && row.step != Some(NextStep::Wait) {
        return Some("Use it, and tell the user that it works in part.".to_owned());
    }
    let is_of_url = match &row.step {
        Some(NextStep::FixEntry { key, .. }) => key.as_deref() == Some("url"),
        step => *step == Some(NextStep::FindType),
    };
    let transport = row.transport.filter(|_| !row.unusable);
    let what = match (transport, &row.step) {
        (None, _) => return Some("Tell the user to correct its entry.".to_owned()),
        // Remote servers keep their logs themselves.
        (Some(TransportKind::Stdio), None | Some(NextStep::ReadLog)) if means.reads_logs => {
            let step = "Read its log with the operation \"tail_log\", or tell the user.";
            return Some(step.to_owned());
        }
        (_, Some(NextStep::Wait)) => "mcpproxy keeps trying",
        (_, Some(step)) if *step == NextStep::fix(NextStep::CREDENTIALS) => {
            return Some("Tell the user that the server needs other credentials.".to_owned());
        }
        _ if is_of_url => "Tell the user to check its URL",
        _ => "Tell the user why it fails",
    };
    let is_remote = transport != Some(TransportKind::Stdio);
    Some(if means.restarts && is_remote {
        format!("{what}; the operation \"restart\" tries at once.")
    } else {
        format!("{what}; continue without it.")
    })
}

/// The lines of a log without secrets and control characters; the last ones if they are too many.
pub(super) fn harmless_lines(lines: &[String], secrets: &Secrets) -> Vec<String> {
    let mut shown = Vec::new();
    let mut size = 0;
    for line in lines.iter().rev() {
        let line = one_line(line, secrets, LONGEST_LINE);
        size += line.len();
        if size > MOST {
            break;
        }
        shown.push(line);
    }
    shown.reverse();
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn next_steps_fit_the_server() {
        let check = |state: &str, transport: &str, has: &str| {
            let row = format!(r#"{{"name":"o","state":{state},"transport":{transport}}}"#);
            let row: ServerRow = serde_json::from_str(&row).expect("a row");
            let step = |may: bool| {
                let means = AgentMeans {
                    reads_logs: may,
                    restarts: may,
                };
                next_step_for_agent(&row, None, true, means).expect("a step")
            };
            assert!(!step(false).contains("operation"), "{}", step(false));
            let step = step(true);
            assert!(step.contains(has), "{step}");
            assert_eq!(
                step.contains("tail_log"),
                transport == r#""stdio""#,
                "{step}"
            );
        };
        check(r#""Authenticating""#, r#""http""#, "Ask the user");
        check(r#""Ready""#, r#""http""#, "it works in part");
        check(
            r#""Error""#,
            r#""http""#,
            "Tell the user why it fails; the operation",
        );
        let elsewhere = r#""Error","step":{"do":"fix_entry","how":"correct it","key":"url"}"#;
        check(elsewhere, r#""http""#, "URL");
        check(r#""Error""#, r#""stdio""#, "tail_log");
        check(r#""Error""#, "null", "Tell the user");
        let how = NextStep::CREDENTIALS;
        let refused = format!(r#""Error","step":{{"do":"fix_entry","how":"{how}"}}"#);
        check(&refused, r#""http""#, "credentials");
        let waits = r#""Error","step":{"do":"wait"}"#;
        check(waits, r#""http""#, "keeps trying");
        for (restarts, step) in [(true, "Enable it"), (false, "Tell the user")] {
            let means = AgentMeans {
                reads_logs: true,
                restarts,
            };
            let off = Failure::new(ErrorCode::ServerDisabled, "it is disabled", "");
            let told = next_step_for_agent(&ServerRow::default(), Some(off), false, means);
            assert!(told.expect("a step").starts_with(step));
        }
    }

    #[test]
    fn the_last_lines_are_kept() {
        let lines: Vec<String> = (0..200)
            .map(|n| format!("{n} {}", "x".repeat(1_000)))
            .collect();
        let shown = harmless_lines(&lines, &Secrets::default());
        assert!(shown.len() > 50 && shown.iter().map(String::len).sum::<usize>() <= MOST);
        assert_eq!(shown.last(), lines.last());
    }

    #[test]
    fn no_refusal_to_an_agent_has_a_path_or_a_command() {
        for code in ErrorCode::ALL {
            let failure = Failure::new(*code, "failed to write /home/me/x", "");
            let shown = for_agent(failure);
            let hint = shown.hint.for_model();
            assert!(!hint.contains(['/', '`']), "{hint}");
            let is_of_file = *code == ErrorCode::ConfigUnusable;
            assert_eq!(shown.error.contains("/home"), !is_of_file, "{code}");
        }
    }
}
