//! The words of the sources: standard terms, and one name for one thing.

use std::collections::{BTreeMap, BTreeSet};

use super::source::{
    Exception, assert_none, assert_none_but, first_word, sources, without_comments,
};

/// Words of a private language, each with the word that readers know.
const PRIVATE: &[(&str, &str)] = &[
    ("bury", "reap"),
    ("buried", "reaped"),
    ("dress", "shaped for"),
    ("exorcise", "forget what was withdrawn"),
    ("exorcised", "forgotten"),
    ("ghost", "a withdrawn request"),
    ("ghosts", "withdrawn requests"),
    ("haunted", "maybe withdrawn"),
    ("inlet", "receiver"),
    ("outlet", "sender"),
    ("tenant", "scope of an instance"),
    ("tenants", "scopes of instances"),
    ("wish", "subscription, log level"),
    ("wishes", "subscriptions, log level"),
];

/// The same, of several words.
const PHRASES: &[(&str, &str)] = &[
    ("speaks for itself", "stateless"),
    ("speak for itself", "stateless"),
    ("speak for themselves", "stateless"),
    ("safe to drop", "cancel-safe"),
];

/// Types that said nothing about what they are.
const EMPTY_TYPES: &[(&str, &str)] = &[
    ("Beginning", "Parts"),
    ("Door", "Transport, DaemonSocket"),
    ("Ground", "ConnectContext"),
    ("House", "WorkerContext"),
    ("Standing", "DaemonInfo"),
    ("Way", "ends of a client stream"),
];

/// Where such a word says what it means.
const RIGHT: &[Exception] = &[(
    "gate/standing.rs",
    1,
    "the standing of a server: whether it may be used at all",
)];

#[test]
fn no_exported_type_name_stands_twice() {
    let mut places: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for file in sources().into_iter().filter(|file| !file.is_test()) {
        for name in exported_types(file.code()) {
            let place = without_platform(&file.name);
            places.entry(name).or_default().insert(place.to_owned());
        }
    }
    let wrong: Vec<String> = places
        .into_iter()
        .filter(|(_, files)| files.len() > 1)
        .map(|(name, files)| {
            format!(
                "{name}: {}",
                files.into_iter().collect::<Vec<_>>().join(", ")
            )
        })
        .collect();
    assert_none(&wrong, "a type that others can see has a name of its own");
}

/// Siblings of which a platform has one stand for each other.
fn without_platform(file: &str) -> &str {
    let platforms = ["/unix.rs", "/windows.rs", "/linux.rs", "/ps.rs"];
    let found = platforms
        .iter()
        .find_map(|platform| file.strip_suffix(platform));
    found.unwrap_or(file)
}

/// The types that other files can see.
fn exported_types(code: &str) -> Vec<String> {
    let code = without_comments(code);
    let exported = |line: &str| {
        let rest = line.trim_start().strip_prefix("pub")?;
        let rest = match rest.strip_prefix('(') {
            Some(limited) => limited.split_once(')')?.1,
            None => rest,
        };
        let (kind, name) = rest.strip_prefix(' ')?.split_once(' ')?;
        let is_type = ["struct", "enum", "trait", "type", "union"].contains(&kind);
        first_word(name).filter(|_| is_type)
    };
    code.lines().filter_map(exported).collect()
}

#[test]
fn the_sources_use_words_that_readers_know() {
    let mut wrong = Vec::new();
    for file in sources() {
        for line in file.text.lines() {
            let lower = line.to_lowercase();
            let words = words(line);
            let private = PRIVATE
                .iter()
                .filter(|(word, _)| words.iter().any(|found| found == word));
            let phrases = PHRASES.iter().filter(|(phrase, _)| lower.contains(phrase));
            for (found, better) in private.chain(phrases) {
                let what = format!("{found:?} ({better}): {}", line.trim());
                wrong.push((file.name.clone(), what));
            }
        }
        let named = exported_types(&file.text).into_iter();
        for (name, better) in EMPTY_TYPES
            .iter()
            .filter(|(name, _)| named.clone().any(|known| known == *name))
        {
            wrong.push((file.name.clone(), format!("{name} ({better})")));
        }
    }
    assert_none_but(&wrong, RIGHT, "use the standard term");
}

/// The words of a line, in lower case; names in snake case and camel case are taken apart.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before = ' ';
    for c in line.chars() {
        let begins = !c.is_alphabetic() || (c.is_uppercase() && !before.is_uppercase());
        if begins {
            words.push(String::new());
        }
        if c.is_alphabetic()
            && let Some(word) = words.last_mut()
        {
            word.extend(c.to_lowercase());
        }
        before = c;
    }
    words.retain(|word| !word.is_empty());
    words
}

#[test]
fn the_readers_of_words_see_what_is_there() {
    assert_eq!(
        words("tell_wishes(LogWish, x2)"),
        ["tell", "wishes", "log", "wish", "x"]
    );
    assert_eq!(
        exported_types(
            "pub struct A;\npub(crate) enum B<T> {}\n  pub(in crate::x) type C = u8;\npub fn d() {}\nstruct E;"
        ),
        ["A", "B", "C"]
    );
}
