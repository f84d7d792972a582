//! The notices of a search: why there may be more tools than were found. Pure.

use super::{Found, Omitted, Search};
use crate::{
    catalog::{LONGEST_QUERY, MOST_FILTERS, MOST_PHRASES, Matching, Query},
    config::AllowedCalls,
    failure::{ErrorCode, Failure, NextStep},
    gate::Variant,
    text::{capitalized, count, names::as_argument, some_of},
};

/// How many reasons, servers or words a notice names.
const NAMED: usize = 3;

/// The notice for a query without words.
pub(super) const NO_WORDS: &str =
    "The query has no words to search for. Name what the tool should do.";

/// The notice where the caller has no server.
pub(super) const NO_SERVERS: &str =
    "No server can be used: none is configured, or you have access to none.";

/// The notice where phrases were searched as words.
pub(super) const NO_PHRASE: &str = "No tool contains the exact phrase; these contain its words.";

/// The notice for a query that is larger than the limits.
pub(super) fn too_long() -> String {
    format!(
        "The query is too long: only its first {LONGEST_QUERY} characters, {MOST_PHRASES} phrases and {MOST_FILTERS} filters were used. Name the task in a few words."
    )
}

/// Servers whose tools are not known, or cannot be called.
#[derive(Debug, Default)]
pub(super) struct Absent {
    /// All of them.
    pub(super) servers: Vec<String>,
    /// Their lists are being read.
    pub(super) awaited: Vec<String>,
    /// They need a login.
    pub(super) logins: Vec<String>,
    /// They cannot be reached or started, each as `name (reason)`.
    pub(super) down: Vec<String>,
    /// Whether tools are known and not indexed yet.
    pub(super) is_behind: bool,
}

impl Absent {
    /// Whether a server is one of them.
    pub(super) fn has(&self, server: &str) -> bool {
        self.servers.iter().any(|name| name == server)
    }

    /// The notices about them.
    pub(super) fn notices(&self, is_at_terminal: bool) -> Vec<String> {
        let for_model = |text| if is_at_terminal { "" } else { text };
        let mut notices = Vec::new();
        if !self.logins.is_empty() {
            let logins = some_of(&self.logins, NAMED);
            let step = for_model(" Ask the user to log in, then search again.");
            notices.push(format!(
                "Not searched, because a login is needed: {logins}.{step}"
            ));
        }
        if !self.down.is_empty() {
            let down = some_of(&self.down, NAMED);
            let step = for_model(match self.down.len() {
                1 => " Tell the user if you need it.",
                _ => " Tell the user if you need one of them.",
            });
            notices.push(format!("Not searched: {down}.{step}"));
        }
        if !self.awaited.is_empty() {
            notices.push(format!(
                "Not searched yet: {}. Search again in a moment.",
                some_of(&self.awaited, NAMED)
            ));
        } else if self.is_behind {
            let notice = "The newest tools are not searched yet. Search again in a moment.";
            notices.push(notice.to_owned());
        }
        notices
    }
}

/// The notice about servers whose tools were found and that a call would not reach, each as `name (reason)`.
pub(super) fn unconnected(servers: &[String]) -> String {
    let whose = if servers.len() == 1 { "its" } else { "their" };
    let servers = some_of(servers, NAMED);
    format!("Not connected now: {servers}. Calls to {whose} tools may fail.")
}

/// Where the query names other servers than the one that is to be searched.
pub(super) fn contradiction(named: &[&str], server: &str) -> String {
    let named = some_of(named, NAMED);
    format!(
        "The query searches {named}, but \"server\" is {server}. Leave out \"server\", or the servers in the query."
    )
}

/// Where nothing was found, and nothing is held back.
pub(super) fn nothing(search: &Search, query: &Query) -> String {
    match (&query.filters[..], search.matching) {
        ([filter], _) if query.words.is_empty() && !filter.prefix.is_empty() => {
            let (servers, prefix) = (some_of(&filter.servers, NAMED), &filter.prefix);
            format!(
                "No tool of {servers} has a name that begins with {prefix:?}, or has this word. Try other words."
            )
        }
        (_, Matching::All) => {
            "No tool has all of these words. With \"match\" \"any\", some are enough.".to_owned()
        }
        (_, Matching::Any) => "No match. Try other English words for the task.".to_owned(),
    }
}

/// Where nothing was found, and so many held tools are searched by their names only.
pub(super) fn by_name(held: usize, is_at_terminal: bool) -> String {
    let (were, names, them) = if held == 1 {
        ("was", "name", "it")
    } else {
        ("were", "names", "them")
    };
    let tools = count(held, "held tool");
    let searched = format!("{tools} {were} searched by {names} only");
    if is_at_terminal {
        format!("{searched}.")
    } else {
        format!("{searched}; only the user can approve {them}.")
    }
}

/// Where nothing was found by a caller whose token finds only some tools.
pub(super) fn beyond_token(calls: AllowedCalls) -> String {
    let calls = calls.in_words();
    format!("This token {calls}; other tools are not found. If you need one, tell the user.")
}

/// Why no tool of a server can be found that may not be used.
pub(super) fn unusable(failure: &Failure, is_at_terminal: bool) -> String {
    let (error, step) = (capitalized(&failure.error), step(failure, is_at_terminal));
    format!("{error}, so none of its tools can be found. {step}")
}

/// The first of these sentences.
pub(super) fn first_of(sentences: &[String]) -> String {
    let more = (sentences.len() > NAMED).then_some(" There are others.");
    let (first, _) = sentences.split_at(sentences.len().min(NAMED));
    first.join(" ") + more.unwrap_or_default()
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
    let (filter, total) = (filter_name(up_to), omitted.total());
    format!("{filter} left out every matching tool ({total}). Search without {filter}.")
}

/// The notice where all matches are held back, or the best one. A person gets the step for the best one only.
pub(super) fn held_back(found: &Found, is_at_terminal: bool) -> String {
    let mut steps: Vec<String> = Vec::new();
    let mut reasons = Vec::new();
    for failure in found.held.iter().take(NAMED) {
        reasons.push(failure.error.clone());
        let step = step(failure, is_at_terminal);
        if steps.is_empty() || !is_at_terminal && !steps.contains(&step) {
            steps.push(step);
        }
    }
    let what = if found.is_held {
        "No match can be called"
    } else {
        "The best match cannot be called"
    };
    let more = (found.held.len() > NAMED).then_some("; there are others");
    let more = more.unwrap_or_default();
    format!("{what}: {}{more}. {}", reasons.join("; "), steps.join(" "))
}

fn step(failure: &Failure, is_at_terminal: bool) -> String {
    if is_at_terminal {
        return format!("Next: {}.", step_of_a_person(failure));
    }
    let step = match failure.code {
        ErrorCode::ServerDisabled => "Tell the user what is disabled; continue without it.",
        ErrorCode::ToolDisabled => "Tell the user: only they can enable the tool.",
        ErrorCode::ServerQuarantined | ErrorCode::ToolHeld | ErrorCode::ToolChanged => {
            "Tell the user that their review is needed; do not work around it."
        }
        _ => "Tell the user; continue without it.",
    };
    step.to_owned()
}

fn step_of_a_person(failure: &Failure) -> String {
    let server = failure.server.as_deref().unwrap_or("NAME");
    let tool = failure.tool.as_deref().unwrap_or("TOOL");
    let thing = as_argument(&format!("{server}:{tool}"));
    match failure.code {
        ErrorCode::AccessDenied => {
            format!("`mcpproxy access check operator {thing}` says which rule denies it")
        }
        ErrorCode::ServerDisabled => NextStep::Enable.at_terminal(server),
        ErrorCode::ToolDisabled => format!("`mcpproxy tools enable {thing}`"),
        _ => NextStep::Review.at_terminal(server),
    }
}

/// Where tools were found, and none of them has these words. Of a token that may make only these calls, other tools are not searched.
pub(super) fn without(words: &[&str], only: Option<AllowedCalls>) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("{word:?}")).collect();
    let noun = if words.len() == 1 { "word" } else { "words" };
    let of_token = only.map_or("", |_| " that this token may call");
    let named = some_of(&quoted, NAMED);
    format!("No tool{of_token} has the {noun} {named}.")
}
