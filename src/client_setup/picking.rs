//! Which of the servers that were found are taken.

use super::{gathering::Gathered, import_report::outcome_of};
use crate::{
    client_files::{ImportOutcome, PlannedServer},
    error_code::{ErrorCode, Failure},
};

/// The places in the plan of those that can be taken; of those with these names, there or here, if any are given.
pub fn picked_by(gathered: &Gathered, names: &[String]) -> Result<Vec<usize>, Failure> {
    let plan = gathered.plan.iter().enumerate();
    if names.is_empty() {
        let new = plan.filter(|(_, server)| server.new_name().is_some());
        return Ok(new.map(|(at, _)| at).collect());
    }
    let mut picked = Vec::new();
    for name in names {
        let is_meant = |server: &PlannedServer| {
            let named_here = server
                .new_name()
                .is_some_and(|new| new.eq_ignore_ascii_case(name));
            named_here || server.written_name.eq_ignore_ascii_case(name)
        };
        let meant = plan.clone().filter(|(_, server)| is_meant(server));
        let meant: Vec<(usize, &PlannedServer)> = meant.collect();
        let takeable = meant
            .iter()
            .filter(|(_, server)| server.new_name().is_some());
        let before = picked.len();
        picked.extend(takeable.map(|(at, _)| *at));
        if picked.len() == before {
            return Err(not_picked(name, meant.first().map(|(_, server)| *server)));
        }
    }
    picked.sort_unstable();
    picked.dedup();
    Ok(picked)
}

/// Of these names those of servers that are here already just as they were found. Nothing is to be done for them.
pub fn here_already<'a>(gathered: &Gathered, names: &'a [String]) -> Vec<&'a String> {
    let is_same = |name: &&String| {
        let plan = gathered.plan.iter();
        let mut meant = plan
            .filter(|server| server.written_name.eq_ignore_ascii_case(name))
            .peekable();
        meant.peek().is_some()
            && meant.all(|server| {
                matches!(&server.outcome, ImportOutcome::Same { differing, .. } if differing.is_empty())
            })
    };
    names.iter().filter(is_same).collect()
}

fn not_picked(name: &str, found: Option<&PlannedServer>) -> Failure {
    let Some(server) = found else {
        let error = format!("no server named {name:?} was found");
        let hint = "`mcpproxy import --dry-run` shows what there is";
        return Failure::new(ErrorCode::UnknownServer, error, hint);
    };
    let code = match server.outcome {
        ImportOutcome::Same { .. } => ErrorCode::ServerExists,
        _ => ErrorCode::ServerMisconfigured,
    };
    let error = format!("{name:?} cannot be taken over: {}", outcome_of(server));
    let hint = "`mcpproxy import --dry-run` shows what can be taken";
    Failure::new(code, error, hint)
}
