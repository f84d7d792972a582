//! Values of servers that are to be imported: secrets go into the keyring, placeholders get what the person gives.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::{
    Client, ClientFile, ClientServer, FoundOutcome, FoundServer, ImportReport, Placeholder,
    containers::set_apart,
    gather::existing,
    literal_secrets::{has_reference, literals, scheme},
    placeholders::{fill, is_placeholder, placeholders},
    plan::row,
    secret_names::{own_name, value_of},
};
use crate::{
    failure::{ErrorCode, Failure, NextStep, Result},
    management::Files,
    text::{Secret, ServerName, cut::shortened},
};

/// Stores what an entry has at a place in the keyring, under a name of the server's own. The patch that has the entry refer to it. Blocks.
pub fn to_keyring(files: &Files, server: &str, place: &str) -> Result<Map<String, Value>> {
    let wrong = |why: &str| {
        let error = format!("nothing was moved: {place:?} {why}");
        let hint = "name a variable or a header that holds a value, as env.NAME or headers.NAME";
        Failure::new(ErrorCode::InvalidArguments, error, hint)
    };
    let entries = existing(files.config_file())?;
    let entry = entries.into_iter().find(|(name, _)| name == server);
    let (_, entry) = entry.ok_or_else(|| {
        let error = format!("nothing was moved: no server named {server:?} is in the file");
        let failure = Failure::new(ErrorCode::UnknownServer, error, "Name a server.");
        failure.with_step(NextStep::ShowServers).of_server(server)
    })?;
    let parts = place.split_once('.');
    let parts = parts.filter(|(list, _)| ["env", "headers"].contains(list));
    let (list, key) = parts.ok_or_else(|| wrong("is neither a variable nor a header"))?;
    let value = entry.get(list).and_then(|members| members.get(key));
    let value = match value.and_then(Value::as_str) {
        None => Err("is not in the entry"),
        Some("") => Err("is empty"),
        Some(value) if has_reference(value) => Err("already contains a reference"),
        Some(value) => Ok(value),
    };
    let shows = |failure: Failure| failure.with_step(NextStep::ShowServer).of_server(server);
    let value = value.map_err(|why| shows(wrong(why)))?;
    let (begin, name) = (scheme(value), own_name(server, key));
    let secret = value.get(begin.len()..).unwrap_or(value);
    let secret = secret.replace("$${", "${");
    keep_once(files, &name, &Secret::new(secret))?;
    let reference = format!("{begin}${{keyring:{name}}}");
    let patch = json!({ list: { key: reference } });
    Ok(patch.as_object().cloned().unwrap_or_default())
}

/// Stores a secret, unless this value is there: a former try stored it, and then the entry was not changed.
fn keep_once(files: &Files, name: &str, secret: &Secret) -> Result {
    match files.add_secret(name, secret) {
        Err(failure) if failure.code == ErrorCode::SecretExists => {
            if files.keyring()?.holds(name, secret) {
                return Ok(());
            }
            let error = format!("nothing was moved: another secret {name:?} already exists");
            let hint = "have the entry refer to it, or remove it first";
            Err(Failure::new(failure.code, error, hint))
        }
        stored => stored.map(|_| ()),
    }
}

impl FoundServer {
    /// One that a person writes here.
    fn written(name: &ServerName, mut entry: Map<String, Value>) -> Self {
        set_apart(&mut entry);
        let written = ClientServer::written(name.as_str());
        let file = ClientFile::new(None, None, PathBuf::new());
        let mut server = row(&file, Client::default(), &written);
        server.name = Some(name.to_string());
        server.outcome = FoundOutcome::New;
        server.chosen = true;
        server.entry = entry;
        server.look();
        server
    }

    /// Its entry; or why it has none that can be used.
    pub fn into_entry(self) -> Result<Map<String, Value>, String> {
        match self.error {
            None => Ok(self.entry),
            Some(why) => Err(why),
        }
    }

    /// Notes what of its entry is a secret or a placeholder.
    fn look(&mut self) {
        self.placeholders = placeholders(&self.entry);
        let server = self.name.as_deref().unwrap_or_default();
        self.literal_secrets = literals(&self.entry);
        for secret in &mut self.literal_secrets {
            secret.name = own_name(server, secret.key().unwrap_or("secret"));
        }
        self.note_secret_steps();
    }
}

impl ImportReport {
    /// One server that a person writes here.
    pub fn of_entry(name: &ServerName, entry: Map<String, Value>) -> Self {
        Self {
            servers: vec![FoundServer::written(name, entry)],
            ..Self::of(Path::new("/"))
        }
    }

    /// Puts the values of placeholders into those that were chosen; a server that lacks one is not imported. `value` is given the server's
    /// name.
    pub fn fill_placeholders(
        &mut self,
        mut value: impl FnMut(&str, &Placeholder) -> Option<String>,
    ) {
        for server in self.servers.iter_mut().filter(|server| server.chosen) {
            let name = server.new_name().unwrap_or_default().to_owned();
            let blanks = std::mem::take(&mut server.placeholders);
            for one in &blanks {
                let is_value = |given: &&str| !given.is_empty() && !is_placeholder(given);
                let given = value(&name, one);
                let given = given.as_deref().map(str::trim);
                let Some(own) = given.filter(is_value) else {
                    let Placeholder { place, text } = one;
                    server.chosen = false;
                    server.error = Some(match given {
                        Some("") => format!("no value for `{place}`"),
                        _ => format!("`{place}` is the placeholder {}", shortened(&**text, 80)),
                    });
                    break;
                };
                let given = one.filled(&own.replace("${", "$${"));
                fill(&mut server.entry, &one.place, &given);
            }
            if !blanks.is_empty() {
                server.look();
            }
            // What was given is none, whatever it looks like.
            if server.chosen {
                server.placeholders.clear();
            }
        }
    }

    /// The names of the secrets of those that were chosen which could go into the keyring.
    pub fn secrets_to_keep(&self) -> Vec<&str> {
        let chosen = self.servers.iter().filter(|server| server.chosen);
        let secrets = chosen.flat_map(|server| &server.literal_secrets);
        let secrets = secrets.filter(|secret| secret.key().is_some());
        secrets.map(|secret| &*secret.name).collect()
    }

    /// Has each of them stored, and refers to it instead. What is not stored stays as it is.
    pub fn keep_secrets<E>(
        &mut self,
        mut store: impl FnMut(&str, &Secret) -> Result<(), E>,
    ) -> Result<(), E> {
        for server in self.servers.iter_mut().filter(|server| server.chosen) {
            for secret in std::mem::take(&mut server.literal_secrets) {
                let Some(value) = value_of(&server.entry, &secret) else {
                    server.literal_secrets.push(secret);
                    continue;
                };
                if !secret.is_stored {
                    store(&secret.name, &Secret::new(value))?;
                }
                let reference = secret.reference(&secret.name);
                fill(&mut server.entry, &secret.place, &reference);
            }
            server.note_secret_steps();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, sync::Arc};

    use super::{ImportReport, ServerName, json, to_keyring};
    use crate::{
        config::{ChosenBy, Places},
        failure::ErrorCode,
        management::Management,
        text::Secret,
    };

    #[test]
    fn a_placeholder_is_no_value_for_another() {
        let name = ServerName::parse("x").expect("a name");
        let entry = json!({ "command": "x", "env": { "KEY": "<KEY>" } });
        let entry = entry.as_object().expect("a map");
        let unchanged = Some("`env.KEY` is the placeholder <KEY>");
        for (given, why) in [
            ("<YOUR_KEY>", unchanged),
            ("/path/to/it", unchanged),
            (" ", Some("no value for `env.KEY`")),
            ("k", None),
        ] {
            let mut report = ImportReport::of_entry(&name, entry.clone());
            report.fill_placeholders(|_, _| Some(given.to_owned()));
            let server = &report.servers[0];
            assert_eq!(server.error.as_deref(), why, "{given}");
            assert_eq!(server.chosen, why.is_none(), "{given}");
        }
    }

    #[test]
    fn a_value_can_be_moved_again_if_its_entry_was_not_changed() {
        let ground = tempfile::tempdir().expect("a folder");
        let config_file = ground.path().join("config.json");
        let text = r#"{"keyring":"file","mcpServers":{"x":{"command":"a","env":{"KEY":"v","NONE":"","HOME":"${HOME}"}}}}"#;
        fs::write(&config_file, text).expect("a file");
        let places = Places {
            config_file,
            data_dir: ground.path().to_owned(),
            data_dir_given: true,
            chosen_by: ChosenBy::Flag,
        };
        let files = Management::over_files(places, Arc::new(|_| None));
        let patch = to_keyring(&files, "x", "env.KEY").expect("a patch");
        let again = to_keyring(&files, "x", "env.KEY").expect("a patch again");
        assert_eq!(again, patch);
        let stored = files.secrets().expect("secrets").secrets;
        let [row] = &stored[..] else {
            panic!("{stored:?}");
        };
        let other = Secret::new("other".to_owned());
        files.set_secret(&row.name, &other).expect("it is stored");
        let refused = to_keyring(&files, "x", "env.KEY").expect_err("another value");
        assert_eq!(refused.code, ErrorCode::SecretExists);
        for (place, why) in [
            ("", "is neither a variable nor a header"),
            ("env.NOPE", "is not in the entry"),
            ("env.NONE", "is empty"),
            ("env.HOME", "already contains a reference"),
        ] {
            let refused = to_keyring(&files, "x", place).expect_err(place);
            assert_eq!(refused.error, format!("nothing was moved: {place:?} {why}"));
        }
        let nowhere = to_keyring(&files, "y", "env.KEY").expect_err("no such server");
        let step = nowhere.over_rest().hint;
        assert_eq!(step.for_people(), "GET /api/v1/servers lists the servers.");
    }
}
