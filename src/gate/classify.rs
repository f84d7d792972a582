//! What a tool does to the world where its server does not say: the person's `tool_acl` first, then the words of its name, then how
//! its description begins. Pure; decides nothing.

use crate::{
    catalog::{Tool, words_of},
    config::{ServerEntry, ToolClass},
};

/// What our own classification says of a tool.
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

/// Verbs that delete, wherever they stand in a name: `bulk_delete_rows`, `issue_remove`.
const DELETING: &str = "delete destroy drop erase purge remove truncate uninstall unlink wipe";

/// Verbs that change something where a name begins with them. Verbs that are as often nouns (post, commit, archive) are not here.
const WRITING: &str = "add append approve assign cancel create disable edit enable insert install merge modify move overwrite publish push \
     put rename replace save send set submit update upload upsert write";

/// Verbs that only look. What follows one in a name is what it looks at: `list_deleted`, `get_remove_policy`.
const READING: &str = "check count describe download fetch find get has inspect is list look lookup preview query read retrieve return search \
     show view";

/// Our own classification.
pub fn effect(entry: Option<&ServerEntry>, tool: &Tool) -> Effect {
    match entry.and_then(|entry| entry.tool_acl.class(&tool.name)) {
        Some(ToolClass::Read) => return Effect::Reads,
        Some(ToolClass::Write) => return Effect::Writes,
        Some(ToolClass::Destructive) => return Effect::Deletes,
        None => (),
    }
    let name = words_of(&tool.name);
    for (i, word) in name.iter().enumerate() {
        match verb(word) {
            Some(Effect::Deletes) => return Effect::Deletes,
            Some(Effect::Writes) if i == 0 => return Effect::Writes,
            Some(Effect::Unsure) => return Effect::Unsure,
            _ => (),
        }
    }
    // "Permanently deletes …"
    let beginning: String = tool.description.chars().take(100).collect();
    let said = words_of(&beginning)
        .into_iter()
        .find(|word| !word.ends_with("ly"));
    said.and_then(|word| verb(&word)).unwrap_or(Effect::Unsure)
}

/// What one word says; `Unsure` if it only looks.
fn verb(word: &str) -> Option<Effect> {
    let is_of = |verbs: &str| {
        let is = |verb: &str| {
            word.strip_prefix(verb)
                .is_some_and(|end| matches!(end, "" | "s" | "es"))
                || verb.ends_with('y') && word == third_person(verb)
        };
        verbs.split_ascii_whitespace().any(is)
    };
    if is_of(DELETING) {
        Some(Effect::Deletes)
    } else if is_of(WRITING) {
        Some(Effect::Writes)
    } else if is_of(READING) {
        Some(Effect::Unsure)
    } else {
        None
    }
}

/// `modify` becomes `modifies`.
fn third_person(verb: &str) -> String {
    format!("{}ies", verb.trim_end_matches('y'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        catalog::{Listing, ServerCatalog},
        names::ServerName,
        wire::{Raw, Revision},
    };

    fn of(definition: &serde_json::Value) -> Effect {
        let listing = Listing {
            initialize: Raw::empty_object(),
            revision: Revision::NEWEST_LEGACY,
            tools: vec![Raw::author(definition)],
            prompts: vec![],
            resources: vec![],
            templates: vec![],
        };
        let server = ServerCatalog::ingest(&ServerName::parse("s").expect("a name"), "e", listing);
        effect(None, &server.tools[0])
    }

    #[track_caller]
    fn check(name: &str, description: &str, expected: Effect) {
        let found =
            of(&serde_json::json!({ "name": name, "description": description, "inputSchema": {} }));
        assert_eq!(found, expected, "{name}: {description}");
    }

    #[test]
    fn names_that_surely_delete() {
        for name in [
            "delete_repo",
            "deleteFile",
            "bulk_delete_rows",
            "issue-remove",
            "drop_table",
            "db.truncate",
            "DELETE_ALL",
        ] {
            check(name, "", Effect::Deletes);
        }
    }

    #[test]
    fn names_that_surely_write() {
        for name in [
            "create_issue",
            "updateUser",
            "set-status",
            "send_message",
            "upsert_row",
            "modify_x",
        ] {
            check(name, "", Effect::Writes);
        }
    }

    #[test]
    fn whatever_may_be_anything_is_not_guessed() {
        for name in [
            "list_deleted_files",
            "get_remove_policy",
            "is_enabled",
            "searchUpdates",
            "undelete",
            "post_stats",
            "commit_history",
            "last_update",
            "run",
            "frobnicate",
            "execute_sql",
            "",
        ] {
            let name = if name.is_empty() { "x" } else { name };
            check(name, "", Effect::Unsure);
        }
    }

    #[test]
    fn where_the_name_is_silent_the_description_begins_with_it() {
        check("bin", "Deletes a file for good.", Effect::Deletes);
        check("bin", "Permanently removes it.", Effect::Deletes);
        check("note", "Modifies a note.", Effect::Writes);
        check("note", "Shows how to delete a note.", Effect::Unsure);
        check("note", "Notes can be deleted with this.", Effect::Unsure);
        check("get_note", "Deletes nothing.", Effect::Unsure);
    }
}
