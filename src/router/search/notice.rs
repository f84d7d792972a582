//! The notices beside the tools that were found: why there may be more. Pure.

use super::{Omitted, Search};
use crate::{
    catalog::Matching,
    failure::error_code::{ErrorCode, Failure},
    gate::Variant,
};

/// Reasons, servers and words that a notice names.
const NAMED: usize = 3;

/// The notice for a query without words.
pub(super) const NO_WORDS: &str =
    "The query has no words to search for. Name what the tool should do.";

/// The notice where phrases had to be taken as words.
pub(super) const NO_PHRASE: &str = "No tool has the exact phrase; these have its words.";

/// The notice for a query that is larger than the limits.
pub(super) const TOO_LONG: &str = "The query is too long: only its beginning was searched for, and its first phrases and filters. \
    Name the task in fewer words.";

/// Servers whose tools are not known, or cannot be called.
#[derive(Debug, Default)]
pub(super) struct Absent {
    /// Their lists are being read.
    pub(super) awaited: Vec<String>,
    /// They cannot be reached or started, each with its reason.
    pub(super) down: Vec<String>,
    /// The same of those whose tools are known and were found.
    pub(super) unconnected: Vec<String>,
}

impl Absent {
    /// The notices about them, and about tools that are known and not indexed yet if the index `is_behind`.
    pub(super) fn notices(&self, is_behind: bool) -> Vec<String> {
        let mut notices = Vec::new();
        if !self.unconnected.is_empty() {
            notices.push(format!(
                "Not connected now: {}. Calls to these tools may fail.",
                some_of(&self.unconnected)
            ));
        }
        if !self.down.is_empty() {
            let down = some_of(&self.down);
            notices.push(format!(
                "Not searched: {down}. Search again later, or tell the user."
            ));
        }
        if !self.awaited.is_empty() {
            notices.push(format!(
                "Not searched yet: {}. Search again in a moment.",
                some_of(&self.awaited)
            ));
        } else if is_behind {
            let notice = "The newest tools are not searched yet. Search again in a moment.";
            notices.push(notice.to_owned());
        }
        notices
    }
}

/// Where nothing was found, and nothing is held back.
pub(super) fn nothing(search: &Search, is_empty: bool) -> String {
    let why = match (&search.server, search.matching) {
        (Some(server), _) if is_empty => return format!("No tools of {server} can be searched."),
        (None, _) if is_empty => "There are no tools yet.",
        (_, Matching::All) => {
            "No tool has all of these words. With `match` \"any\", some are enough."
        }
        (_, Matching::Any) => "No match. Try other English words for the task.",
    };
    why.to_owned()
}

/// How the argument is called that leaves out what does more than this.
pub(super) fn filter_name(up_to: Variant) -> &'static str {
    match up_to {
        Variant::Read => "read_only_only",
        Variant::Write | Variant::Destructive => "exclude_destructive",
    }
}

/// Where a filter left out all that fits.
pub(super) fn omitted(up_to: Variant, omitted: Omitted) -> String {
    let (filter, does) = match filter_name(up_to) {
        filter @ "read_only_only" => (filter, "write"),
        filter => (filter, "delete or overwrite"),
    };
    let causes = [
        (omitted.declares_write, format!("declared to {does}")),
        (omitted.declares_nothing, "without a declaration".to_owned()),
        (
            omitted.words_say_write,
            format!("described as if to {does}"),
        ),
    ];
    let causes = causes.iter().filter(|(count, _)| *count > 0);
    let causes: Vec<String> = causes
        .map(|(count, why)| format!("{count} {why}"))
        .collect();
    let (total, them) = match omitted.total() {
        1 => ("1 matching tool".to_owned(), "it"),
        total => (format!("{total} matching tools"), "them"),
    };
    let causes = causes.join(", ");
    format!("{filter} left out {total}: {causes}. Search without {filter} to find {them}.")
}

/// The notice where all that fits is held back, or what fits best. A person learns what shows more.
pub(super) fn held_back(held: &[Failure], all: bool, to_a_person: bool) -> String {
    let named = held.iter().take(NAMED);
    let reasons = if to_a_person {
        let reasons = named.map(|one| format!("{}; {}.", one.error, step_of_a_person(one)));
        reasons.collect::<Vec<_>>().join(" ")
    } else {
        let reasons: Vec<&str> = named.map(|one| &*one.error).collect();
        let step = held.first().map_or("", step_of_an_agent);
        format!("{}; {step}.", reasons.join("; "))
    };
    let more = if held.len() > NAMED {
        " There are others."
    } else {
        ""
    };
    let what = if all {
        "Every match is held"
    } else {
        "The best match is held"
    };
    format!("{what}: {reasons}{more}")
}

fn step_of_an_agent(failure: &Failure) -> &'static str {
    match failure.code {
        ErrorCode::ServerDisabled | ErrorCode::ToolDisabled => "only the user can enable it",
        _ => "tell the user that it awaits their review, and do not reach it another way",
    }
}

fn step_of_a_person(failure: &Failure) -> String {
    let server = failure.server.as_deref().unwrap_or("NAME");
    match failure.code {
        ErrorCode::AccessDenied => {
            let tool = failure.tool.as_deref().unwrap_or("TOOL");
            format!("`mcpproxy access check operator {server}:{tool}` says which rule denies it")
        }
        ErrorCode::ServerDisabled => format!("`mcpproxy upstream enable {server}`"),
        ErrorCode::ToolDisabled => {
            let tool = failure.tool.as_deref().unwrap_or("TOOL");
            format!("`mcpproxy tools enable {server}:{tool}`")
        }
        _ => format!("`mcpproxy upstream inspect {server}`"),
    }
}

/// Where tools were found, and none of them has these words.
pub(super) fn without(words: &[&str]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("{word:?}")).collect();
    let noun = if words.len() == 1 { "word" } else { "words" };
    format!("No tool has the {noun} {}.", some_of(&quoted))
}

fn some_of(names: &[String]) -> String {
    let (first, rest) = names.split_at(names.len().min(NAMED));
    match rest.len() {
        0 => first.join(", "),
        n => format!("{} and {n} more", first.join(", ")),
    }
}
