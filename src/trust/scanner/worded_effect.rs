//! The effect of a tool that its words name: those of its name, else the beginning of its description. Pure; decides nothing.

use super::fold::words_of_name;

/// The effect that the words of a tool name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WordedEffect {
    /// It changes something.
    Writes,
    /// It deletes something.
    Deletes,
    /// It runs code or commands, with any effect.
    Executes,
    /// The words name none of these.
    Unsure,
}

/// Verbs that delete, anywhere in a name: `bulk_delete_rows`, `issue_remove`.
#[rustfmt::skip]
const DELETING: &[&str] = &[
    "delete", "destroy", "drop", "erase", "purge", "remove", "truncate", "uninstall", "unlink", "wipe",
];

/// Verbs that change something, at the beginning of a name. Verbs that are as often nouns (post, commit, archive) are not here.
#[rustfmt::skip]
const WRITING: &[&str] = &[
    "add", "append", "approve", "assign", "cancel", "create", "disable", "edit", "enable", "insert", "install", "merge", "modify",
    "move", "overwrite", "pay", "publish", "purchase", "push", "put", "rename", "replace", "save", "send", "set", "submit",
    "transfer", "update", "upload", "upsert", "withdraw", "write",
];

/// Those of [`WRITING`] that may apply to the arguments alone, as `add` of a calculator. They do not count as the only word of a name, or at the
/// beginning of a description.
#[rustfmt::skip]
const OF_VALUES: &[&str] = &[
    "add", "append", "insert", "merge", "put", "replace", "set",
];

/// Verbs that run something, at the beginning of a name, unless it has a word of [`LOOKS`].
#[rustfmt::skip]
const RUNNING: &[&str] = &[
    "eval", "exec", "execute", "run",
];
#[rustfmt::skip]
const LOOKS: &[&str] = &[
    "analysis", "inspection", "lookup", "queries", "query", "read", "readonly", "report", "select", "search", "test", "tests",
];

/// Verbs that only read. The words after one name what is read: `list_deleted`, `get_remove_policy`.
#[rustfmt::skip]
const READING: &[&str] = &[
    "check", "count", "describe", "download", "fetch", "find", "get", "has", "inspect", "is", "list", "look", "lookup", "preview",
    "query", "read", "retrieve", "return", "search", "show", "view",
];

impl WordedEffect {
    /// The effect that the name names, else the description.
    pub fn of(name: &str, description: &str) -> Self {
        Self::of_name(name).unwrap_or_else(|| Self::of_description(description))
    }

    /// The effect that a name names; `None` if its words decide nothing.
    pub(super) fn of_name(name: &str) -> Option<Self> {
        let name = words_of_name(name);
        let words = || words(&name);
        let is_alone = words().nth(1).is_none();
        for (i, word) in words().enumerate() {
            match verb(word) {
                Some(WordedEffect::Writes) if is_alone && is_of(word, OF_VALUES) => (),
                Some(WordedEffect::Writes | WordedEffect::Executes) if i > 0 => (),
                Some(WordedEffect::Executes) if words().any(|word| is_of(word, LOOKS)) => (),
                None => (),
                says => return says,
            }
        }
        None
    }

    /// The effect that the beginning of a description names: "Permanently deletes …".
    pub(super) fn of_description(description: &str) -> Self {
        let end = description.char_indices().nth(100);
        let end = end.map_or(description.len(), |(at, _)| at);
        let beginning = description.get(..end).unwrap_or_default();
        let word = each_word(beginning).find(|word| !word.ends_with("ly"));
        // "Adds two numbers."
        let word = word.filter(|word| !is_of(word, OF_VALUES));
        let effect = word.and_then(|word| verb(&word));
        effect
            .filter(|effect| *effect != WordedEffect::Executes)
            .unwrap_or(WordedEffect::Unsure)
    }
}

/// The words of a text as those of a name are, one by one: mostly the first is enough.
pub(super) fn each_word(text: &str) -> impl Iterator<Item = String> {
    text.split(' ').flat_map(|part| {
        let folded = words_of_name(part);
        words(&folded).map(str::to_owned).collect::<Vec<_>>()
    })
}

fn words(folded: &str) -> impl Iterator<Item = &str> {
    let words = folded.split(|c: char| !c.is_alphanumeric());
    words.filter(|word| !word.is_empty())
}

/// The effect of a verb; `Unsure` if it only reads.
fn verb(word: &str) -> Option<WordedEffect> {
    let effects = [
        (DELETING, WordedEffect::Deletes),
        (WRITING, WordedEffect::Writes),
        (READING, WordedEffect::Unsure),
        (RUNNING, WordedEffect::Executes),
    ];
    let found = effects.into_iter().find(|(verbs, _)| is_of(word, verbs));
    found.map(|(_, effect)| effect)
}

/// Whether a word is one of these verbs, also in the third person: `sets`, `pushes`, `modifies`.
fn is_of(word: &str, verbs: &[&str]) -> bool {
    let is = |verb: &str| {
        if let Some(end) = word.strip_prefix(verb) {
            return matches!(end, "" | "s" | "es");
        }
        let stem = verb.strip_suffix('y');
        stem.is_some_and(|stem| word.strip_prefix(stem) == Some("ies"))
    };
    let first = word.bytes().next();
    let mut verbs = verbs.iter();
    verbs.any(|verb| verb.bytes().next() == first && is(verb))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(name: &str, description: &str, expected: WordedEffect) {
        let found = WordedEffect::of(name, description);
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
            check(name, "", WordedEffect::Deletes);
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
            "transfer_funds",
            "add_user",
        ] {
            check(name, "", WordedEffect::Writes);
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
            "add",
            "run_query",
            "execute_readonly_sql",
            "frobnicate",
            "dry_run",
            "",
        ] {
            let name = if name.is_empty() { "x" } else { name };
            check(name, "", WordedEffect::Unsure);
        }
    }

    #[test]
    fn names_that_run_what_they_are_given() {
        for name in ["run", "execute_sql", "exec", "evalScript", "run_command"] {
            check(name, "", WordedEffect::Executes);
        }
        check("run_report", "", WordedEffect::Unsure);
    }

    #[test]
    fn where_the_name_is_silent_the_description_begins_with_it() {
        check("bin", "Deletes a file for good.", WordedEffect::Deletes);
        check("bin", "Permanently removes it.", WordedEffect::Deletes);
        check("note", "Modifies a note.", WordedEffect::Writes);
        check("note", "Shows how to delete a note.", WordedEffect::Unsure);
        check(
            "note",
            "Notes can be deleted with this.",
            WordedEffect::Unsure,
        );
        check("get_note", "Deletes nothing.", WordedEffect::Unsure);
        check("add", "Adds two numbers.", WordedEffect::Unsure);
    }
}
