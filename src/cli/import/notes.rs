//! What a person has to know of the servers that are taken: what they need, secrets that stand in the file, and what was left behind.

use std::path::Path;

use super::super::output::Output;
use crate::{
    client_files::{Carried, ImportOutcome, NeededKind, NeededValue},
    client_setup::{AddedServer, Gathered, is_set},
    storage,
};

/// Says it, server by server.
pub(in crate::cli) fn say(gathered: &Gathered, chosen: &[usize], out: Output) {
    for server in chosen.iter().filter_map(|at| gathered.plan.get(*at)) {
        if let ImportOutcome::New { name, carried, .. } = &server.outcome {
            say_of(name.as_str(), server.client.name(), carried, out);
        }
    }
}

/// Warns where secrets were written as they are and others can read the file.
pub(in crate::cli) fn say_readable(
    file: &Path,
    gathered: &Gathered,
    added: &[AddedServer],
    out: Output,
) {
    let has_secrets = |added: &AddedServer| {
        let server = gathered.plan.get(added.at).map(|server| &server.outcome);
        let is_written = added.error.is_none();
        is_written
            && matches!(server, Some(ImportOutcome::New { carried, .. }) if !carried.literals.is_empty())
    };
    if added.iter().any(has_secrets) && storage::is_open_to_others(file) {
        let file = file.display();
        out.warning(&format!(
            "other users can read {file}, which has secrets now; next step: `chmod 600 {file}`"
        ));
    }
}

fn say_of(name: &str, client: &str, carried: &Carried, out: Output) {
    for need in carried.needs.iter().filter(|need| !is_set(need)) {
        out.note(&format!(
            "{name} {}; next step: {}",
            wants(need),
            need.step()
        ));
    }
    for secret in &carried.literals {
        let (place, step) = (&secret.place, secret.step(name));
        out.note(&format!(
            "{name} has a secret in `{place}`, which was taken over as it is; next step: {step}"
        ));
    }
    if !carried.left_behind.is_empty() {
        out.note(&format!(
            "{name}: of its entry in the file of {client} this was left behind, because it says nothing here: {}",
            carried.left_behind.join(", ")
        ));
    }
}

fn wants(need: &NeededValue) -> String {
    let about = need.about.as_ref().map(|about| format!(" ({about})"));
    let about = about.unwrap_or_default();
    match need.kind {
        NeededKind::Variable => {
            format!("refers to ${{{}}}{about}, which is not set here", need.name)
        }
        NeededKind::Secret => match &need.not_given {
            Some(stored) => format!(
                "needs the secret {:?}{about}; {stored:?} is stored already, but nothing refers to it, so it was not given to this server",
                need.name
            ),
            None => format!("needs the secret {:?}{about}", need.name),
        },
    }
}
