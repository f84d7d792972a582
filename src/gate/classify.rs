//! What a tool does to the world, as far as that is known: its server's word first, then the person's `tool_acl`, then the words of
//! its name and description. Pure; decides nothing.

use super::Variant;
use crate::{
    catalog::{Tool, words_of},
    config::{ServerEntry, ToolClass},
};

/// What our own classification says of a tool whose server says nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// A person says that it only looks.
    Reads,
    /// It surely changes something.
    Writes,
    /// It surely deletes something.
    Deletes,
    /// It may be anything.
    Unsure,
}

/// Words that delete, whatever stands beside them.
const DELETING: &[&str] = &[
    "delete",
    "deletes",
    "destroy",
    "destroys",
    "drop",
    "drops",
    "erase",
    "erases",
    "purge",
    "purges",
    "remove",
    "removes",
    "truncate",
    "truncates",
    "uninstall",
    "uninstalls",
    "unlink",
    "unlinks",
    "wipe",
    "wipes",
];

/// Words that change something.
const WRITING: &[&str] = &[
    "add",
    "adds",
    "append",
    "appends",
    "approve",
    "approves",
    "archive",
    "archives",
    "assign",
    "assigns",
    "cancel",
    "cancels",
    "close",
    "closes",
    "commit",
    "commits",
    "create",
    "creates",
    "disable",
    "disables",
    "edit",
    "edits",
    "enable",
    "enables",
    "execute",
    "executes",
    "insert",
    "inserts",
    "install",
    "installs",
    "kill",
    "kills",
    "make",
    "makes",
    "merge",
    "merges",
    "modify",
    "modifies",
    "move",
    "moves",
    "overwrite",
    "overwrites",
    "patch",
    "patches",
    "post",
    "posts",
    "publish",
    "publishes",
    "push",
    "pushes",
    "put",
    "puts",
    "rename",
    "renames",
    "replace",
    "replaces",
    "reply",
    "replies",
    "save",
    "saves",
    "send",
    "sends",
    "set",
    "sets",
    "submit",
    "submits",
    "update",
    "updates",
    "upload",
    "uploads",
    "upsert",
    "upserts",
    "write",
    "writes",
];

/// Words that only look. A name that begins with one is no deleting one: `list_deleted`, `get_remove_policy`.
const READING: &[&str] = &[
    "check",
    "checks",
    "count",
    "counts",
    "describe",
    "describes",
    "diff",
    "download",
    "fetch",
    "fetches",
    "find",
    "finds",
    "get",
    "gets",
    "has",
    "inspect",
    "inspects",
    "is",
    "list",
    "lists",
    "look",
    "lookup",
    "preview",
    "query",
    "queries",
    "read",
    "reads",
    "retrieve",
    "retrieves",
    "return",
    "returns",
    "search",
    "searches",
    "show",
    "shows",
    "status",
    "view",
    "views",
];

/// Our own classification: `tool_acl`, then name, then the description's first word.
pub fn effect(entry: Option<&ServerEntry>, tool: &Tool) -> Effect {
    match entry.and_then(|entry| entry.tool_acl.class(&tool.name)) {
        Some(ToolClass::Read) => return Effect::Reads,
        Some(ToolClass::Write) => return Effect::Writes,
        Some(ToolClass::Destructive) => return Effect::Deletes,
        None => (),
    }
    let name = words_of(&tool.name);
    let said = name
        .iter()
        .find_map(|word| effect_of(word))
        .or_else(|| effect_of(words_of(&tool.description).first()?));
    said.unwrap_or(Effect::Unsure)
}

/// What one word says; `Unsure` from a word that only looks, which ends the search.
fn effect_of(word: &str) -> Option<Effect> {
    if DELETING.contains(&word) {
        Some(Effect::Deletes)
    } else if WRITING.contains(&word) {
        Some(Effect::Writes)
    } else if READING.contains(&word) {
        Some(Effect::Unsure)
    } else {
        None
    }
}

/// The variant to call a tool with. Never milder than what is known; reading only where the server says so.
pub fn call_with(entry: Option<&ServerEntry>, tool: &Tool) -> Variant {
    match (tool.hints.destructive, tool.hints.read_only) {
        (Some(true), _) => Variant::Destructive,
        (_, Some(true)) => Variant::Read,
        _ if effect(entry, tool) == Effect::Deletes => Variant::Destructive,
        _ => Variant::Write,
    }
}
