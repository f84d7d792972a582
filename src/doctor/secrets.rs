//! Where secrets by name are kept, and whether that can be read. Which of them are missing is said of the servers that want them.

use super::DoctorFinding;
use crate::{
    config,
    keyring::{Keyring, KeyringError, StoredSecrets},
    management::Files,
};

const SECRETS: &str = "secrets";

pub(super) fn check(files: &Files) -> Option<DoctorFinding> {
    // What is wrong with the file then is a finding of its own.
    let keyring = files.keyring().ok()?;
    let text = config::read_text(files.config_file()).unwrap_or_default();
    let uses = config::secret_uses(&text).unwrap_or_default();
    let wanted: Vec<&str> = uses.keys().map(String::as_str).collect();
    Some(finding(&keyring, keyring.stored(), &wanted))
}

fn finding(
    keyring: &Keyring,
    stored: Result<StoredSecrets, KeyringError>,
    wanted: &[&str],
) -> DoctorFinding {
    let fault = match stored {
        Ok(stored) => {
            let known = match stored.names.len() {
                0 => "none stored".to_owned(),
                known => format!("{known} stored"),
            };
            if let Some(store) = stored.store {
                let place = keyring.place(store);
                let why = stored.fault.map(|why| format!(", because {why}"));
                let why = why.unwrap_or_default();
                let what = format!("{known}; new ones go into {place}{why}");
                return DoctorFinding::ok(SECRETS, what);
            }
            stored.fault
        }
        Err(fault) => Some(fault),
    };
    let what = fault.as_ref().map(ToString::to_string).unwrap_or_default();
    let fix = fault.map(|fault| fault.next_step()).unwrap_or_default();
    if wanted.is_empty() {
        let what = format!("no server needs a secret, but {what}");
        return DoctorFinding::warn(SECRETS, what, fix);
    }
    let what = format!("{what}; your servers need {}", wanted.join(", "));
    DoctorFinding::fail(SECRETS, what, fix)
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, sync::Arc};

    use super::*;
    use crate::{config::KeyringChoice, doctor::DoctorSeverity, keyring::SecretStore};

    #[test]
    fn what_cannot_be_read_counts_where_a_server_needs_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let nothing_set: config::Variables = Arc::new(|_| None);
        let keyring = Keyring::new(folder.path(), KeyringChoice::Auto, &nothing_set);
        let keyring = keyring.expect("nothing is set");
        let stored = |store, fault| {
            let names = BTreeMap::from([("a".to_owned(), SecretStore::File)]);
            Ok(StoredSecrets {
                names,
                store,
                fault,
            })
        };
        let check = |stored, wanted: &[&str], severity, part: &str| {
            let found = finding(&keyring, stored, wanted);
            assert_eq!(found.severity, severity, "{}", found.what);
            assert!(found.what.contains(part), "{}", found.what);
        };
        let file = Some(SecretStore::File);
        let absent = || KeyringError::Absent("none runs".to_owned());
        check(
            stored(file, None),
            &[],
            DoctorSeverity::Ok,
            "1 stored; new ones go into the file ",
        );
        check(
            stored(file, Some(absent())),
            &["gh"],
            DoctorSeverity::Ok,
            "because",
        );
        check(
            stored(None, Some(KeyringError::Locked)),
            &["gh"],
            DoctorSeverity::Fail,
            "is locked; your servers need gh",
        );
        check(
            Err(KeyringError::Silent),
            &[],
            DoctorSeverity::Warn,
            "did not answer",
        );
    }
}
