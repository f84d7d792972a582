//! Looks up the secrets that the configuration refers to. A value that was read once stays in use while the keyring cannot be read: locking
//! the keyring does not stop running servers.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    sync::Arc,
};

use super::{error::KeyringError, question::KeyringQuestions, stores::Keyring};
use crate::{
    config::{KeyringLookup, KeyringPlace, NoSecret, Places, Variables},
    runtime::sync::Guarded,
    text::secret::Secret,
};

/// The data folder with the secrets: the one that the file names, unless the command line names one, else the default.
pub fn folder_of(places: &Places, place: &KeyringPlace) -> PathBuf {
    let named = place.data_dir.as_ref().filter(|_| !places.data_dir_given);
    named.unwrap_or(&places.data_dir).clone()
}

/// The lookup of secrets for these places.
pub fn lookup(places: &Places, variables: &Variables) -> KeyringLookup {
    let (places, variables) = (places.clone(), Arc::clone(variables));
    let (questions, known) = (KeyringQuestions::default(), Guarded::default());
    Arc::new(move |place, names| {
        let folder = folder_of(&places, place);
        match Keyring::new(&folder, place.choice, &variables) {
            Ok(keyring) => {
                let answers = keyring.sharing(&questions).values(names);
                remembering(&mut known.lock(), answers)
            }
            Err(error) => {
                let why = |name: &String| (name.clone(), Err(error.fault()));
                let names: &BTreeSet<String> = names;
                names.iter().map(why).collect()
            }
        }
    })
}

/// The answers, with known values in place of those that could not be read.
fn remembering(
    known: &mut BTreeMap<String, Secret>,
    answers: BTreeMap<String, Result<Secret, KeyringError>>,
) -> BTreeMap<String, Result<Secret, NoSecret>> {
    let mut values = BTreeMap::new();
    for (name, answer) in answers {
        let value = match answer {
            Ok(value) => {
                known.insert(name.clone(), value.clone());
                Ok(value)
            }
            Err(missing @ KeyringError::Missing(..)) => {
                known.remove(&name);
                Err(missing.fault())
            }
            Err(error) => {
                let kept = known.get(&name).cloned();
                kept.ok_or_else(|| error.fault())
            }
        };
        values.insert(name, value);
    }
    // Values to which nothing refers any more are dropped.
    known.retain(|name, _| values.contains_key(name));
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_had_stays_until_it_is_known_to_be_gone() {
        let mut known = BTreeMap::new();
        let mut check = |answer: Result<&str, KeyringError>, expected: Option<&str>| {
            let answer = answer.map(Secret::new);
            let answers = BTreeMap::from([("a".to_owned(), answer)]);
            let values = remembering(&mut known, answers);
            let value = values["a"].as_ref().ok().map(Secret::reveal);
            assert_eq!(value, expected);
        };
        let missing = || KeyringError::Missing("a".to_owned(), "it".to_owned());
        check(Err(KeyringError::Locked), None);
        check(Ok("first"), Some("first"));
        check(Err(KeyringError::Locked), Some("first"));
        check(Ok("second"), Some("second"));
        check(Err(KeyringError::Silent), Some("second"));
        check(Err(missing()), None);
        check(Err(KeyringError::Silent), None);
    }
}
