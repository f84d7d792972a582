//! The private file, and what is said where nothing is found. The platform's own keyring is none of a test's business.

use std::{collections::BTreeSet, fs, path::Path, sync::Arc};

use super::{Keyring, KeyringError, SecretStore};
use crate::{
    config::{KeyringChoice, Variables},
    text::secret::Secret,
};

fn variables(keyring: Option<&'static str>) -> Variables {
    let value = move |name: &str| {
        keyring
            .filter(|_| name == "MCPPROXY_KEYRING")
            .map(str::to_owned)
    };
    Arc::new(value)
}

fn in_file(folder: &Path) -> Keyring {
    Keyring::new(folder, KeyringChoice::File, &variables(None)).expect("a good choice")
}

fn values(keyring: &Keyring, name: &str) -> Result<Secret, KeyringError> {
    let names = BTreeSet::from([name.to_owned()]);
    keyring
        .values(&names)
        .remove(name)
        .expect("every name has an answer")
}

#[test]
fn the_private_file_keeps_secrets_until_they_are_removed() {
    let folder = tempfile::tempdir().expect("a folder");
    let keyring = in_file(folder.path());
    let set = |name, value: &str| keyring.set(name, &Secret::new(value));
    assert_eq!(set("a", "first-value"), Ok(SecretStore::File));
    assert_eq!(set("b/c", "other\nvalue"), Ok(SecretStore::File));
    assert_eq!(set("a", "second-value"), Ok(SecretStore::File));
    assert_eq!(
        values(&keyring, "a").map(|it| it.reveal().to_owned()),
        Ok("second-value".to_owned())
    );
    let stored = keyring.stored().expect("readable");
    let names: Vec<&String> = stored.names.keys().collect();
    assert_eq!(names, ["a", "b/c"]);
    assert_eq!(
        (stored.store, stored.fault),
        (Some(SecretStore::File), None)
    );
    assert_eq!(keyring.remove("a"), Ok(true));
    assert_eq!(keyring.remove("a"), Ok(false));
    let missing = values(&keyring, "a").expect_err("it is gone");
    assert!(
        missing.next_step().contains("`mcpproxy secret set a`"),
        "{missing}"
    );
}

#[cfg(unix)]
#[test]
fn the_private_file_is_its_owners_alone() {
    use std::os::unix::fs::PermissionsExt;

    let folder = tempfile::tempdir().expect("a folder");
    let keyring = in_file(folder.path());
    keyring
        .set("a", &Secret::new("value-of-a"))
        .expect("writable");
    let file = folder.path().join("secrets.json");
    let mode = |file: &Path| {
        fs::metadata(file)
            .expect("it is there")
            .permissions()
            .mode()
            & 0o777
    };
    assert_eq!(mode(&file), 0o600);
    // What was made readable for others is closed again when it is read.
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).expect("ours");
    values(&keyring, "a").expect("readable");
    assert_eq!(mode(&file), 0o600);
}

#[cfg(unix)]
#[test]
fn a_link_in_place_of_the_private_file_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let elsewhere = folder.path().join("elsewhere");
    let text = r#"{"version": 1, "secrets": {"a": "hunter2"}}"#;
    fs::write(&elsewhere, text).expect("writable");
    std::os::unix::fs::symlink(&elsewhere, folder.path().join("secrets.json")).expect("a link");
    let keyring = in_file(folder.path());
    let fault = values(&keyring, "a").expect_err("a link").to_string();
    assert!(fault.contains("symbolic link"), "{fault}");
    assert!(keyring.set("a", &Secret::new("x")).is_err());
    assert_eq!(fs::read_to_string(&elsewhere).expect("readable"), text);
}

#[test]
fn a_file_that_cannot_be_read_is_named_and_nothing_of_it_repeated() {
    let folder = tempfile::tempdir().expect("a folder");
    let keyring = in_file(folder.path());
    for (text, why) in [
        (
            "{\"secrets\": hunter2}",
            "is damaged: no valid JSON at line 1, column 13",
        ),
        ("", "is damaged: it ends too early"),
        (
            r#"{"version": 1, "secrets": "hunter2"}"#,
            "is damaged: it does not have the form that mcpproxy writes",
        ),
    ] {
        fs::write(folder.path().join("secrets.json"), text).expect("writable");
        let fault = values(&keyring, "a").expect_err("it is broken").to_string();
        assert!(
            fault.contains("secrets.json cannot be read: the file ")
                && fault.ends_with(why)
                && !fault.contains("hunter2"),
            "{fault}"
        );
        let set = keyring.set("a", &Secret::new("x"));
        assert!(
            matches!(set, Err(KeyringError::Damaged(_))),
            "what cannot be read is kept"
        );
        let step = set.expect_err("it is broken").next_step();
        assert!(step.contains("move it away"), "{step}");
    }
    let newer = r#"{"version": 2, "secrets": {"a": "hunter2"}}"#;
    fs::write(folder.path().join("secrets.json"), newer).expect("writable");
    let fault = values(&keyring, "a").expect_err("it is newer");
    assert!(
        fault.to_string().ends_with("wrote them (version 2)"),
        "{fault}"
    );
    assert!(fault.next_step().starts_with("update mcpproxy"));
}

#[test]
fn many_writers_lose_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    std::thread::scope(|threads| {
        for writer in 0..4 {
            let keyring = in_file(folder.path());
            threads.spawn(move || {
                for number in 0..5 {
                    let name = format!("{writer}/{number}");
                    keyring.set(&name, &Secret::new("value")).expect("writable");
                }
            });
        }
    });
    let stored = in_file(folder.path()).stored().expect("readable");
    assert_eq!(stored.names.len(), 20);
}

#[test]
fn the_variable_counts_more_than_the_configuration() {
    let folder = tempfile::tempdir().expect("a folder");
    let new = |word| Keyring::new(folder.path(), KeyringChoice::Platform, &variables(word));
    let keyring = new(Some("file")).expect("a good word");
    assert_eq!(keyring.set("a", &Secret::new("x")), Ok(SecretStore::File));
    let error = new(Some("cloud")).err().expect("a bad word").to_string();
    assert!(error.contains("cannot be \"cloud\""), "{error}");
}
