//! The key of the lock file, read strictly: a slip must not leave a team without the file that says what is accepted. Reads no lock file.

use jsonc_parser::{ast, common::Ranged};

use super::{
    ConfigError,
    document::{BYTE_ORDER_MARK, tree},
    mistakes::Mistakes,
    strict::wrong_at,
    unknown_keys,
};

/// The key.
const KEY: &str = "lock_file";

/// What else it may be called by somebody who does not look it up, without case and separators.
const OTHER_WORDS: [&str; 4] = ["lock", "locked", "lockfile", "lockfilepath"];

/// What is wrong with the key, all of it with line and column. `known` are the keys of the top level.
pub(super) fn check(text: &str, known: &[&str]) -> Result<(), ConfigError> {
    let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
    let root = tree(text)?;
    let Some(ast::Value::Object(root)) = &root else {
        return Ok(());
    };
    let mut is_found = false;
    let mut mistakes = Mistakes::default();
    for property in &root.properties {
        let (key, value) = (property.name.as_str(), &property.value);
        let problem = if key == KEY {
            let is_second = std::mem::replace(&mut is_found, true);
            if is_second {
                Some("stands there twice")
            } else {
                says_nothing(value)
            }
        } else {
            is_meant(key, known).then_some("is unknown; the lock file is named with `lock_file`")
        };
        if let Some(problem) = problem {
            mistakes.add(wrong_at(text, property.start(), key, problem));
        }
    }
    Ok(mistakes.unless_any(Some(()))?)
}

/// What is said of a value that names no file and is no mistake of its type.
fn says_nothing(value: &ast::Value<'_>) -> Option<&'static str> {
    match value {
        ast::Value::NullKeyword(_) => {
            Some("is null: take it out to go without a lock file, or name one")
        }
        ast::Value::StringLit(literal) if literal.value.trim().is_empty() => {
            Some("is empty: take it out to go without a lock file, or name one")
        }
        _ => None,
    }
}

fn is_meant(key: &str, known: &[&str]) -> bool {
    if known.contains(&key) {
        return false;
    }
    let letters: String = key.chars().filter(char::is_ascii_alphanumeric).collect();
    let letters = letters.to_ascii_lowercase();
    OTHER_WORDS.contains(&&*letters)
        || unknown_keys::meant(key, known).is_some_and(|meant| meant == KEY)
}
