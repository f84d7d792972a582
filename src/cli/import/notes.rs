//! What a person has to know of the servers that are taken: what they need, secrets that stand in the file, and what was left behind.

use std::path::Path;

use super::super::output::Output;
use crate::{
    client_files::{Carried, ImportOutcome, NeededKind, NeededValue},
    client_setup::{AddedServer, Gathered, is_set},
    storage,
};

/// The servers that are spoken of.
#[derive(Clone, Copy)]
pub(in crate::cli) enum NotedServers<'a> {
    /// These places in the plan could be taken, and none was: what has to be done afterwards cannot be done yet.
    Offered(&'a [usize]),
    /// Those of these that were added are here now.
    Taken(&'a [AddedServer]),
}

/// Says it, server by server.
pub(in crate::cli) fn say(gathered: &Gathered, told: NotedServers<'_>, out: Output) {
    let (places, words): (Vec<usize>, &Words) = match told {
        NotedServers::Offered(chosen) => (chosen.to_vec(), &OFFERED),
        NotedServers::Taken(added) => {
            let done = added.iter().filter(|added| added.error.is_none());
            (done.map(|added| added.at).collect(), &TAKEN)
        }
    };
    for server in places.into_iter().filter_map(|at| gathered.plan.get(at)) {
        if let ImportOutcome::New { name, carried, .. } = &server.outcome {
            say_of(name.as_str(), server.client.name(), carried, words, out);
        }
    }
}

/// How it is said.
struct Words {
    /// What happens with a secret that stands in the file.
    carried: &'static str,
    /// What happens with keys that say nothing here.
    left: &'static str,
    /// When the step is to be done.
    step: &'static str,
}

const TAKEN: Words = Words {
    carried: "was taken over as it is",
    left: "was left behind",
    step: "next step",
};

/// A secret that is stored before is not given to a server that is taken over later, so not even that is a step now.
const OFFERED: Words = Words {
    carried: "would be taken over as it is",
    left: "would be left behind",
    step: "once it is taken over",
};

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

fn say_of(name: &str, client: &str, carried: &Carried, words: &Words, out: Output) {
    let when = words.step;
    for need in carried.needs.iter().filter(|need| !is_set(need)) {
        let (wants, step) = (wants(need), need.step());
        out.note(&format!("{name} {wants}; {when}: {step}"));
    }
    for secret in &carried.literals {
        let (place, step) = (&secret.place, secret.step(name));
        out.note(&format!(
            "{name} has a secret in `{place}`, which {}; {when}: {step}",
            words.carried
        ));
    }
    if !carried.left_behind.is_empty() {
        out.note(&format!(
            "{name}: of its entry in the file of {client} this {}, because it says nothing here: {}",
            words.left,
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
                "needs the secret {:?}{about}; {stored:?} is stored already, but nothing refers to it, so it is not given to this server",
                need.name
            ),
            None => format!("needs the secret {:?}{about}", need.name),
        },
    }
}
