//! What a tool does to the world as far as its words say it: those of its name, then how its description begins. Pure; decides nothing.

use super::tokenizer::words_of;

/// What the words of a tool say of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WordedEffect {
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

impl WordedEffect {
    /// Reads the words.
    pub(super) fn of(name: &str, description: &str) -> Self {
        for (i, word) in words_of(name).iter().enumerate() {
            match verb(word) {
                Some(WordedEffect::Deletes) => return WordedEffect::Deletes,
                Some(WordedEffect::Writes) if i == 0 => return WordedEffect::Writes,
                Some(WordedEffect::Unsure) => return WordedEffect::Unsure,
                _ => (),
            }
        }
        // "Permanently deletes …"
        let beginning: String = description.chars().take(100).collect();
        let word = words_of(&beginning)
            .into_iter()
            .find(|word| !word.ends_with("ly"));
        word.and_then(|word| verb(&word))
            .unwrap_or(WordedEffect::Unsure)
    }
}

/// What one word says; `Unsure` if it only looks.
fn verb(word: &str) -> Option<WordedEffect> {
    let is_of = |verbs: &str| {
        let is = |verb: &str| {
            word.strip_prefix(verb)
                .is_some_and(|end| matches!(end, "" | "s" | "es"))
                || verb.ends_with('y') && word == third_person(verb)
        };
        verbs.split_ascii_whitespace().any(is)
    };
    if is_of(DELETING) {
        Some(WordedEffect::Deletes)
    } else if is_of(WRITING) {
        Some(WordedEffect::Writes)
    } else if is_of(READING) {
        Some(WordedEffect::Unsure)
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
            "run",
            "frobnicate",
            "execute_sql",
            "",
        ] {
            let name = if name.is_empty() { "x" } else { name };
            check(name, "", WordedEffect::Unsure);
        }
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
    }
}
