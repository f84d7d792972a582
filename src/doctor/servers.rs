//! Whether the program of each server is found where servers are started, and whether each server answers: asked of the daemon, or
//! tried without one. Servers that are switched off or held are never started or contacted.

use std::{fs::File, path::Path, sync::Arc, time::Duration};

use tokio_util::sync::CancellationToken;

use super::{
    DoctorFinding, DoctorSeverity,
    trial::{Trial, TrialOutcome},
};
use crate::{
    config::{ServerEntry, Settings, Transport, duration},
    failure::NextStep,
    gate::{self, Standing},
    management::{LEFT_OUT_STEP, LeftOut, ServerRow, ServerState},
    process::{BaseEnvironment, Launch, LoginPath},
    storage,
    text::count,
};

const COMMAND: &str = "server command";

const SERVER: &str = "server";

/// The `PATH` on which programs of servers are searched: the login shell's before ours, but not from a terminal, which has it already.
/// It is known if the shell printed it, or the settings have one.
pub(super) fn search_path(base: &BaseEnvironment, is_known: bool) -> DoctorFinding {
    let check = "path";
    let finding = if is_known || File::open("/dev/tty").is_ok() {
        let folders = std::env::split_paths(&base.path()).count();
        let what = format!("servers' programs are looked up in {folders} folders");
        DoctorFinding::ok(check, what)
    } else {
        let shell = std::env::var_os("SHELL").filter(|shell| !shell.is_empty());
        let why = match shell.as_deref().map(Path::new) {
            Some(shell) if !shell.exists() => {
                format!("$SHELL is {}, which does not exist", shell.display())
            }
            Some(shell) => format!("the login shell {} printed no PATH", shell.display()),
            None => "$SHELL is not set".to_owned(),
        };
        let what = format!("{why}, so servers' programs are looked up only in mcpproxy's own PATH");
        DoctorFinding::warn(
            check,
            what,
            "`mcpproxy config set environment.set.PATH \"$PATH\"`",
        )
    };
    finding.at(base.path().to_string_lossy())
}

/// Looks for the program of every server that may be used. Starts nothing.
pub(super) fn programs(settings: &Settings, base: &BaseEnvironment) -> Vec<DoctorFinding> {
    let mut found = 0;
    let mut findings = Vec::new();
    for entry in usable(settings) {
        let Transport::Stdio(stdio) = &entry.transport else {
            continue;
        };
        match Launch::of(entry, stdio).resolve(base) {
            Ok(_) => found += 1,
            Err(error) => {
                let what = error.to_string();
                let what = entry.secrets.redacted(&what);
                let step = error.step().at_terminal(entry.name.as_str());
                findings.push(DoctorFinding::fail(COMMAND, what, step).at(&entry.name));
            }
        }
    }
    if found > 0 {
        let what = count(found, "program") + " found";
        findings.push(DoctorFinding::ok(COMMAND, what));
    }
    findings
}

/// The servers that may be started or contacted: neither switched off nor held.
pub(super) fn usable(settings: &Settings) -> impl Iterator<Item = &Arc<ServerEntry>> {
    let entries = settings.servers.values();
    entries.filter(|entry| gate::standing(entry).is_usable() && entry.may_be_contacted())
}

/// The servers of which something was found not to work.
pub(super) fn failing(findings: &[DoctorFinding]) -> Vec<&str> {
    let failed = findings
        .iter()
        .filter(|found| found.severity == DoctorSeverity::Fail);
    failed.filter_map(|found| found.place.as_deref()).collect()
}

/// What the daemon says of its servers, but for why the broken ones fail.
pub(super) fn of_daemon(rows: &[ServerRow], broken: &[&str]) -> Vec<DoctorFinding> {
    let is_known = |row: &&ServerRow| row.is_failing() && broken.contains(&&*row.name);
    let rows = rows.iter().filter(|row| !is_known(row));
    rows.filter_map(of_row).collect()
}

fn of_row(row: &ServerRow) -> Option<DoctorFinding> {
    let tools = row.tools.map(|tools| format!(", {}", count(tools, "tool")));
    let tools = tools.unwrap_or_default();
    let finding = match (row.standing(), row.state, &row.last_error) {
        (Standing::Disabled, ..) => return None,
        (Standing::Quarantined, ..) => held_by_daemon(row),
        _ if row.is_failing() => failed(row),
        (.., Some(error)) => {
            DoctorFinding::warn(SERVER, error, row.next_step.as_deref().unwrap_or_default())
        }
        (_, ServerState::Connecting, _) => DoctorFinding::ok(SERVER, "is starting"),
        (_, state, _) => {
            let how = match state {
                ServerState::Ready => "answers",
                _ => "asleep until the next call",
            };
            let works = answered(format!("{how}{tools}"), row.left_out.as_ref());
            match row.held_in_words() {
                Some(held) => {
                    let what = format!("{}; {held} until approved", works.what);
                    let fix = format!("`mcpproxy upstream inspect {}`", row.name);
                    DoctorFinding::warn(SERVER, what, fix)
                }
                None => works,
            }
        }
    };
    Some(finding.at(&row.name))
}

/// A server that works; `left_out` are the tools that it lists and that cannot be used.
fn answered(what: String, left_out: Option<&LeftOut>) -> DoctorFinding {
    match left_out {
        None => DoctorFinding::ok(SERVER, what),
        Some(left_out) => DoctorFinding::warn(SERVER, format!("{what}; {left_out}"), LEFT_OUT_STEP),
    }
}

/// A server that waits for approval; the daemon may have listed its tools.
fn held_by_daemon(row: &ServerRow) -> DoctorFinding {
    let what = match (&row.last_error, row.tools) {
        (Some(why), _) => {
            let what = format!("waits for approval; listing its tools failed: {why}");
            let step = row.next_step.clone().unwrap_or_else(|| review(&row.name));
            return DoctorFinding::warn(SERVER, what, step);
        }
        (None, Some(1..)) => "waits for approval; mcpproxy only listed its tools",
        (None, _) => "waits for approval",
    };
    DoctorFinding::warn(SERVER, what, review(&row.name))
}

fn review(name: &str) -> String {
    format!(
        "`mcpproxy upstream inspect {name}` shows it, `mcpproxy upstream approve {name}` approves it"
    )
}

fn failed(row: &ServerRow) -> DoctorFinding {
    let step = row.step.as_ref().unwrap_or(&NextStep::ShowServer);
    let reason = row.last_error.as_deref().unwrap_or("does not answer");
    let fix = row.next_step.clone();
    let fix = fix.unwrap_or_else(|| step.at_terminal(&row.name));
    DoctorFinding::of_server(SERVER, reason, step, fix)
}

/// Starts and contacts the servers, but for those that fail already, a few at a time and all within this time, and ends them.
pub(super) async fn tried(
    settings: &Settings,
    failing: &[&str],
    data_dir: &Path,
    login_path: LoginPath,
    within: Duration,
) -> Vec<DoctorFinding> {
    let mut findings = not_tried(settings);
    let startable: Vec<_> = usable(settings)
        .filter(|entry| !failing.contains(&entry.name.as_str()))
        .map(|entry| entry.name.clone())
        .collect();
    if startable.is_empty() {
        return findings;
    }
    let mut settings = settings.clone();
    settings.servers.retain(|name, _| startable.contains(name));
    let trial = Trial {
        settings: Arc::new(settings),
        data_dir: Some(data_dir),
        ledger: None,
        login_path,
        within,
        ending: CancellationToken::new(),
    };
    match Box::pin(trial.run()).await {
        Ok(tried) => findings.extend(tried.into_iter().map(|(name, outcome)| {
            let name = name.as_str();
            let finding = match outcome {
                TrialOutcome::Answered { tools, left_out } => {
                    let what = format!("answers, {}", count(tools, "tool"));
                    answered(what, left_out.as_ref())
                }
                TrialOutcome::Failed { error, .. } => {
                    let step = match error.step {
                        // Its log has gone with the trial.
                        NextStep::ReadLog if !data_dir.is_dir() => &NextStep::RunByHand,
                        _ => &error.step,
                    };
                    let (what, fix) = (error.whole(), step.at_terminal(name));
                    DoctorFinding::of_server(SERVER, what, step, fix)
                }
                TrialOutcome::Late => {
                    let what = format!("did not answer within {}", duration::in_words(within));
                    let fix = "`mcpproxy doctor --wait 5m` waits longer for it";
                    DoctorFinding::fail(SERVER, what, fix)
                }
            };
            finding.at(name)
        })),
        Err(error) => findings.push(DoctorFinding::fail(
            SERVER,
            format!("servers cannot be started: {error}"),
            storage::disk_step(data_dir, &error),
        )),
    }
    findings
}

/// The findings about servers that wait for approval. A disabled server is meant to be off.
pub(super) fn not_tried(settings: &Settings) -> Vec<DoctorFinding> {
    let entries = settings.servers.values();
    let held_ones = entries.filter(|entry| gate::standing(entry) == Standing::Quarantined);
    let what = "waits for approval and was not started";
    held_ones
        .map(|entry| DoctorFinding::warn(SERVER, what, review(entry.name.as_str())).at(&entry.name))
        .collect()
}

#[cfg(all(test, unix))]
mod tests {
    use super::{failing, of_daemon, programs};
    use crate::{
        config::{Environment, Surroundings, parse},
        doctor::DoctorSeverity,
        process::BaseEnvironment,
    };

    #[test]
    fn a_server_that_waits_for_a_person_or_works_in_part_does_not_fail() {
        for (row, what) in [
            (
                r#"{"name":"a","state":"Authenticating","step":{"do":"log_in"},"last_error":"old"}"#,
                "old",
            ),
            (r#"{"name":"a","state":"Ready","last_error":"cut"}"#, "cut"),
            (
                r#"{"name":"a","state":"Ready","tools":2,"held":2,"held_tools":2}"#,
                "answers, 2 tools; 2 held until approved",
            ),
        ] {
            let row = serde_json::from_str(row).expect("a row");
            let found = of_daemon(&[row], &[]);
            assert_eq!(found[0].severity, DoctorSeverity::Warn);
            assert_eq!(found[0].what, what);
        }
    }

    #[test]
    fn programs_that_are_missing_are_named_with_their_server_and_what_is_held_is_not_looked_for() {
        let text = r#"{ "mcpServers": {
            "good": { "command": "sh" },
            "absent": { "command": "no-such-program-4711" },
            "moved": { "command": "/no/such/program" },
            "nowhere": { "command": "sh", "cwd": "/no/such/folder" },
            "off": { "command": "no-such-program-4711", "enabled": false },
            "held": { "command": "no-such-program-4711", "quarantined": true },
            "remote": { "url": "http://127.0.0.1:9/mcp" }
        } }"#;
        let surroundings = Surroundings {
            lookup: &|_| None,
            folder: std::path::Path::new("/"),
        };
        let settings = parse(text, &surroundings).expect("it is sound");
        let base = BaseEnvironment::new(&Environment::default(), None);
        let findings = programs(&settings, &base);
        assert_eq!(failing(&findings), ["absent", "moved", "nowhere"]);
        let good = findings.last().expect("a finding");
        assert_eq!(good.what, "1 program found");
    }
}
