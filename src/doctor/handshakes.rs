//! Whether each server answers: asked of the daemon, or tried without one. Servers that are switched off or held are never started
//! or contacted.

use std::{path::Path, time::Duration};

use super::{
    DoctorFinding, commands,
    trial::{Trial, TrialOutcome},
};
use crate::{
    config::{Settings, duration},
    gate::{self, Standing},
    management::{LEFT_OUT_STEP, LeftOut, ServerRow, ServerState},
    process::LoginPath,
};

const SERVER: &str = "server";

/// What the daemon says of its servers.
pub(super) fn of_daemon(rows: &[ServerRow]) -> Vec<DoctorFinding> {
    rows.iter().filter_map(of_row).collect()
}

fn of_row(row: &ServerRow) -> Option<DoctorFinding> {
    let tools = match row.tools {
        Some(1) => ", 1 tool".to_owned(),
        Some(tools) => format!(", {tools} tools"),
        None => String::new(),
    };
    let finding = match (row.standing(), row.state) {
        (Standing::Disabled, _) => return None,
        (Standing::Quarantined, _) => held_by_daemon(row),
        _ if row.is_failing() => failed(
            row.last_error.as_deref().unwrap_or("it does not answer"),
            row.next_step.as_deref(),
            &row.name,
        ),
        (_, ServerState::Authenticating) => DoctorFinding::warn(
            SERVER,
            "it waits for a login",
            row.next_step
                .clone()
                .unwrap_or_else(|| format!("mcpproxy upstream login {}", row.name)),
        ),
        (_, ServerState::Ready) => answered(format!("it answers{tools}"), row.left_out.as_ref()),
        (_, ServerState::Connecting) => DoctorFinding::ok(SERVER, "it is being connected"),
        _ => answered(
            format!("asleep until the next call{tools}"),
            row.left_out.as_ref(),
        ),
    };
    Some(finding.at(&row.name))
}

/// That it works, but for what it lists and cannot be used.
fn answered(what: String, left_out: Option<&LeftOut>) -> DoctorFinding {
    match left_out {
        None => DoctorFinding::ok(SERVER, what),
        Some(left_out) => DoctorFinding::warn(SERVER, format!("{what}; {left_out}"), LEFT_OUT_STEP),
    }
}

/// Of one that waits for approval a daemon may have read the lists.
fn held_by_daemon(row: &ServerRow) -> DoctorFinding {
    let what = match (&row.last_error, row.tools) {
        (Some(why), _) => {
            let what = format!(
                "it waits for approval; it was tried once to list its tools, and that failed: {why}"
            );
            let step = row.next_step.clone().unwrap_or_else(|| review(&row.name));
            return DoctorFinding::warn(SERVER, what, step);
        }
        (None, Some(1..)) => "it waits for approval; only its lists were read",
        (None, _) => "it waits for approval; nothing of it is called",
    };
    DoctorFinding::warn(SERVER, what, review(&row.name))
}

fn held(name: &str) -> DoctorFinding {
    DoctorFinding::warn(
        SERVER,
        "it waits for approval, so it was not started",
        review(name),
    )
}

fn review(name: &str) -> String {
    format!(
        "`mcpproxy upstream inspect {name}` shows it, `mcpproxy upstream approve {name}` approves it"
    )
}

fn failed(reason: &str, next_step: Option<&str>, name: &str) -> DoctorFinding {
    let step = next_step.map_or_else(
        || format!("`mcpproxy upstream logs {name}` shows what it wrote"),
        str::to_owned,
    );
    DoctorFinding::fail(SERVER, reason, step)
}

/// Starts and contacts the servers, a few at a time and all within this time, and ends them.
pub(super) async fn tried(
    settings: &Settings,
    data_dir: &Path,
    login_path: LoginPath,
    within: Duration,
) -> Vec<DoctorFinding> {
    let mut findings = not_tried(settings);
    if commands::usable(settings).next().is_none() {
        return findings;
    }
    let trial = Trial {
        settings,
        data_dir,
        login_path,
        within,
    };
    match Box::pin(trial.run()).await {
        Ok(tried) => findings.extend(tried.into_iter().map(|(name, outcome)| {
            let name = name.as_str();
            let finding = match outcome {
                TrialOutcome::Answered { tools, left_out } => {
                    let tools = match tools {
                        1 => "1 tool".to_owned(),
                        tools => format!("{tools} tools"),
                    };
                    answered(format!("it answers, {tools}"), left_out.as_ref())
                }
                TrialOutcome::Failed(error) => failed(&error.reason, Some(&error.next_step), name),
                TrialOutcome::Late => DoctorFinding::fail(
                    SERVER,
                    format!("it did not answer within {}", duration::show(within)),
                    "a first start may download something: try again with --wait 5m",
                ),
            };
            finding.at(name)
        })),
        Err(error) => findings.push(DoctorFinding::fail(
            SERVER,
            format!("servers cannot be started: {error}"),
            "make the data folder one of your own, with room on its disk",
        )),
    }
    findings
}

/// Those that are held. What is switched off is meant to be off.
pub(super) fn not_tried(settings: &Settings) -> Vec<DoctorFinding> {
    let entries = settings.servers.values();
    let held_ones = entries.filter(|entry| gate::standing(entry) == Standing::Quarantined);
    held_ones
        .map(|entry| held(entry.name.as_str()).at(&entry.name))
        .collect()
}
