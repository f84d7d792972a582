//! Values of servers that are to be imported: secrets go into the keyring, placeholders get what the person gives.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::{
    client::Client,
    file::ClientFile,
    literal_secrets::literals,
    placeholders::{Placeholder, fill, placeholders},
    plan::row,
    report::{FoundOutcome, FoundServer, ImportReport},
    secret_names::{own_name, value_of},
    servers::{ClientServer, Scope},
};
use crate::text::{names::ServerName, secret::Secret};

impl FoundServer {
    /// One that a person writes here.
    fn written(name: &ServerName, entry: Map<String, Value>) -> Self {
        let written = ClientServer::written(name.as_str());
        let file = ClientFile::new(None, Scope::User, PathBuf::new());
        let mut server = row(&file, Client::of_content(&Value::Null), &written);
        server.name = Some(name.to_string());
        server.outcome = FoundOutcome::New;
        server.chosen = true;
        server.entry = entry;
        server.name_secrets();
        server
    }

    /// Its entry; or why it has none that can be used.
    pub fn into_entry(self) -> Result<Map<String, Value>, String> {
        match self.error {
            None => Ok(self.entry),
            Some(why) => Err(why),
        }
    }

    fn name_secrets(&mut self) {
        let server = self.name.clone().unwrap_or_default();
        self.literal_secrets = literals(&self.entry);
        for secret in &mut self.literal_secrets {
            secret.name = own_name(&server, secret.key().unwrap_or("secret"));
        }
        let secrets = self.literal_secrets.iter();
        self.secret_steps = secrets.map(|secret| secret.step(&server)).collect();
    }

    /// What a person has to write before it can be used.
    pub fn placeholders(&self) -> Vec<Placeholder> {
        placeholders(&self.entry)
    }

    /// Puts a value in its place.
    pub fn fill(&mut self, place: &str, value: &str) {
        fill(&mut self.entry, place, &value.replace("${", "$${"));
        self.name_secrets();
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

    /// How many secrets of those that were chosen could go into the keyring.
    pub fn secrets_to_keep(&self) -> usize {
        let chosen = self.servers.iter().filter(|server| server.chosen);
        let secrets = chosen.flat_map(|server| &server.literal_secrets);
        secrets.filter(|secret| secret.key().is_some()).count()
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
                let reference = format!("{}${{keyring:{}}}", secret.scheme, secret.name);
                fill(&mut server.entry, &secret.place, &reference);
            }
            let (name, secrets) = (server.name.as_deref(), server.literal_secrets.iter());
            let name = name.unwrap_or_default();
            server.secret_steps = secrets.map(|secret| secret.step(name)).collect();
        }
        Ok(())
    }
}
