//! The fingerprint of an entry: it changes exactly when a running connection has to be replaced. A new value of a secret does not replace a
//! connection, so the fingerprint has the secret's name instead.

use std::{borrow::Cow, collections::BTreeMap};

use serde_json::{Map, Value};

use super::{Environment, Inherit, Named, ProtocolEra, Root, Transport};
use crate::text::Secret;

/// Hashes everything that a connection is made from.
pub(super) fn fingerprint(
    transport: &Transport,
    era: ProtocolEra,
    roots: &[Root],
    environment: &Environment,
    mut secrets: Vec<(String, Secret)>,
) -> String {
    // The longest first, because others may be parts of it.
    secrets.sort_by_key(|(_, value)| std::cmp::Reverse(value.reveal().len()));
    let hasher = blake3::Hasher::new();
    let mut parts = Parts { hasher, secrets };
    parts.add(&transport.kind().to_string());
    match transport {
        Transport::Stdio(stdio) => {
            parts.add(&stdio.command);
            parts.list(stdio.args.iter());
            parts.pairs(stdio.env.iter().map(revealed));
            parts.list(stdio.cwd.iter().map(|cwd| cwd.to_string_lossy()));
            parts.pairs(environment.set.iter().map(revealed));
            if let Some(isolation) = &stdio.isolation {
                parts.add("isolation");
                parts.list(isolation.run_arguments(&Named::default(), &[], &[]).iter());
            }
            match &environment.inherit {
                Inherit::All => parts.add("all"),
                Inherit::None => parts.add("none"),
                Inherit::Safe { also } => parts.list(also.patterns().iter()),
            }
        }
        Transport::Remote(remote) => {
            parts.add(&remote.url);
            let headers = remote.headers.iter();
            parts.pairs(headers.map(|(name, value)| (name, value.reveal())));
            parts.list(remote.ca_file.iter().map(|file| file.to_string_lossy()));
            parts.list(remote.client_cert.iter().map(|file| file.to_string_lossy()));
            // Entries without `oauth` keep the fingerprints that they had before the key existed.
            if !remote.oauth.is_empty() {
                let oauth = remote.oauth.parts();
                parts.pairs(oauth.iter().map(|(name, value)| (name, *value)));
            }
        }
    }
    match era {
        ProtocolEra::Auto => (),
        ProtocolEra::Legacy => parts.add("legacy"),
        ProtocolEra::Modern => parts.add("modern"),
    }
    parts.list(roots.iter().map(|root| &root.uri));
    parts.list(roots.iter().filter_map(|root| root.name.as_ref()));
    parts.hasher.finalize().to_hex().to_string()
}

fn revealed<'a>((name, value): (&'a String, &'a Secret)) -> (&'a String, &'a str) {
    (name, value.reveal())
}

/// Hashes everything that is written in an entry, whatever the order of its keys.
pub fn fingerprint_as_written(entry: &Map<String, Value>) -> String {
    let members = entry.iter().filter(|(_, value)| !value.is_null());
    let members: BTreeMap<&String, String> = members
        .map(|(key, value)| (key, value.to_string()))
        .collect();
    let mut parts = Parts {
        hasher: blake3::Hasher::new(),
        secrets: Vec::new(),
    };
    parts.pairs(members.iter().map(|(key, value)| (*key, value.as_str())));
    parts.hasher.finalize().to_hex().to_string()
}

/// Feeds texts to the hash with their lengths and separators, so that different lists have different hashes.
struct Parts {
    hasher: blake3::Hasher,
    /// The names and values of the secrets in the texts.
    secrets: Vec<(String, Secret)>,
}

impl Parts {
    fn add(&mut self, text: &str) {
        let mut text = Cow::Borrowed(text);
        for (name, value) in &self.secrets {
            if !value.reveal().is_empty() && text.contains(value.reveal()) {
                let reference = format!("${{keyring:{name}}}");
                text = Cow::Owned(text.replace(value.reveal(), &reference));
            }
        }
        self.hasher.update(&(text.len() as u64).to_le_bytes());
        self.hasher.update(text.as_bytes());
    }

    fn list(&mut self, texts: impl Iterator<Item = impl AsRef<str>>) {
        for text in texts {
            self.hasher.update(b"+");
            self.add(text.as_ref());
        }
        self.hasher.update(b".");
    }

    fn pairs<'a>(&mut self, pairs: impl Iterator<Item = (&'a String, &'a str)>) {
        for (name, value) in pairs {
            self.hasher.update(b"+");
            self.add(name);
            self.add(value);
        }
        self.hasher.update(b".");
    }
}
