//! A server's login on disk, in a private file of its own: the registrations with authorization servers, and the tokens that these issued.
//! Every record names its issuer and its resource. Under another address of the server the file counts as empty.

use std::{
    io,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

use crate::{
    storage::{self, DataFile},
    text::{names::ServerName, secret::Secret},
};

/// The version of the format.
const VERSION: u32 = 1;

/// How many bytes of a file are read.
const LARGEST: u64 = 1 << 20;

/// Limit: registrations that are kept of one server.
const MOST_CLIENTS: usize = 8;

/// All that is kept of one server.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct KeptLogin {
    version: u32,
    /// The server's address, for which all of this was given.
    pub(super) url: String,
    #[serde(default)]
    clients: Vec<ClientRegistration>,
    pub(super) grant: Option<Grant>,
    /// The scopes of a login that has ended, to request them again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    former_scopes: Vec<String>,
}

/// The registration of mcpproxy as a client of one authorization server.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct ClientRegistration {
    pub(super) issuer: String,
    pub(super) client_id: String,
    #[serde(serialize_with = "optional_secret", default)]
    pub(super) client_secret: Option<Secret>,
    pub(super) redirect_uri: String,
    /// When the secret ends, in seconds since 1970.
    pub(super) secret_ends: Option<u64>,
}

/// Tokens, and what is needed to renew them.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Grant {
    pub(super) issuer: String,
    pub(super) resource: String,
    pub(super) client_id: String,
    #[serde(serialize_with = "optional_secret", default)]
    pub(super) client_secret: Option<Secret>,
    pub(super) redirect_uri: String,
    #[serde(serialize_with = "secret")]
    pub(super) access_token: Secret,
    #[serde(serialize_with = "optional_secret", default)]
    pub(super) refresh_token: Option<Secret>,
    #[serde(default)]
    pub(super) scopes: Vec<String>,
    /// In seconds since 1970.
    pub(super) received: u64,
    /// In seconds.
    pub(super) lifetime: Option<u64>,
    /// The authorization server's metadata.
    pub(super) metadata: Value,
}

impl KeptLogin {
    /// Nothing, for a server at this address.
    pub(super) fn nothing(url: &str) -> Self {
        Self {
            version: VERSION,
            url: url.to_owned(),
            clients: Vec::new(),
            grant: None,
            former_scopes: Vec::new(),
        }
    }

    /// What is kept of a server at this address. What cannot be read counts as nothing, and is logged.
    pub(super) fn load(file: &Path, url: &str) -> Self {
        match read(file) {
            Ok(Some(kept)) if kept.url == url => kept,
            Ok(_) => Self::nothing(url),
            Err(error) => {
                tracing::warn!(file = %file.display(), error = %storage::in_words(&error), "a stored login cannot be read; log in again");
                Self::nothing(url)
            }
        }
    }

    /// The scopes that the login has, or had when it ended by itself.
    pub(super) fn granted_scopes(&self) -> &[String] {
        match &self.grant {
            Some(grant) => &grant.scopes,
            None => &self.former_scopes,
        }
    }

    /// The authorization server has ended the login.
    pub(super) fn end(&mut self) {
        if let Some(ended) = self.grant.take() {
            self.former_scopes = ended.scopes;
        }
    }

    /// Forgets the tokens and what they were for.
    pub(super) fn log_out(&mut self) {
        self.grant = None;
        self.former_scopes.clear();
    }

    /// Writes it, whole or not at all.
    pub(super) fn save(&self, file: &Path) -> io::Result<()> {
        let text = serde_json::to_vec_pretty(self).map_err(io::Error::other)?;
        storage::write_in_subfolder(file, &text)
    }

    /// The registration with an authorization server, unless its secret has ended.
    pub(super) fn client(&self, issuer: &str, now: u64) -> Option<&ClientRegistration> {
        let mut clients = self.clients.iter();
        clients.find(|client| {
            let ends = client.secret_ends.filter(|ends| *ends > 0);
            client.issuer == issuer && ends.is_none_or(|ends| now < ends)
        })
    }

    /// All secrets in it, which must not show in texts.
    pub(super) fn secrets(&self) -> impl Iterator<Item = &Secret> {
        let of_clients = self.clients.iter();
        let of_clients = of_clients.filter_map(|client| client.client_secret.as_ref());
        of_clients.chain(self.grant.iter().flat_map(Grant::secrets))
    }

    /// Remembers a registration in place of another with the same server.
    pub(super) fn remember(&mut self, client: ClientRegistration) {
        self.forget_client(&client.issuer);
        self.clients.insert(0, client);
        self.clients.truncate(MOST_CLIENTS);
    }

    /// Forgets the registration with an authorization server.
    pub(super) fn forget_client(&mut self, issuer: &str) {
        self.clients.retain(|client| client.issuer != issuer);
    }
}

impl Grant {
    fn secrets(&self) -> impl Iterator<Item = &Secret> {
        let token = Some(&self.access_token);
        let others = [&self.refresh_token, &self.client_secret];
        token
            .into_iter()
            .chain(others.into_iter().filter_map(Option::as_ref))
    }
}

/// A grant with the tokens of an answer (RFC 6749, 5.1); nothing if there is no bearer token in it.
pub(super) fn with_tokens(mut grant: Grant, answer: &Value, received: u64) -> Option<Grant> {
    let text = |name: &str| answer.get(name).and_then(Value::as_str);
    let is_bearer = text("token_type").is_none_or(|kind| kind.eq_ignore_ascii_case("bearer"));
    let access_token = text("access_token").filter(|token| !token.is_empty() && is_bearer)?;
    grant.access_token = Secret::new(access_token);
    if let Some(refresh) = text("refresh_token").filter(|token| !token.is_empty()) {
        grant.refresh_token = Some(Secret::new(refresh));
    }
    if let Some(scope) = text("scope") {
        grant.scopes = scope.split_ascii_whitespace().map(str::to_owned).collect();
    }
    grant.lifetime = answer.get("expires_in").and_then(Value::as_u64);
    grant.received = received;
    Some(grant)
}

/// The file of a server's login.
pub(super) fn file_of(data_dir: &Path, server: &ServerName) -> PathBuf {
    DataFile::Logins.of_server(data_dir, server, "json")
}

fn read(file: &Path) -> io::Result<Option<KeptLogin>> {
    let text = match storage::read_private_file(file, LARGEST) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    // The error of the parser may quote the file.
    let unreadable = |why| io::Error::new(io::ErrorKind::InvalidData, why);
    let kept: Result<KeptLogin, _> = serde_json::from_slice(&text);
    let kept = kept.map_err(|_| unreadable("it is not in mcpproxy's format"))?;
    if kept.version != VERSION {
        return Err(unreadable("it was written by another version of mcpproxy"));
    }
    Ok(Some(kept))
}

/// Writes a secret. Only this file does.
fn secret<S: Serializer>(secret: &Secret, serializer: S) -> Result<S::Ok, S::Error> {
    secret.reveal().serialize(serializer)
}

/// Writes one that may be absent.
#[expect(clippy::ref_option, reason = "what serde wants")]
fn optional_secret<S: Serializer>(
    secret: &Option<Secret>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    secret.as_ref().map(Secret::reveal).serialize(serializer)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn client(issuer: &str, secret_ends: Option<u64>) -> ClientRegistration {
        ClientRegistration {
            issuer: issuer.to_owned(),
            client_id: "c".to_owned(),
            client_secret: Some(Secret::new("hunter2")),
            redirect_uri: "http://127.0.0.1:1/callback".to_owned(),
            secret_ends,
        }
    }

    #[test]
    fn what_is_kept_comes_back_for_the_same_address_only() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = file_of(folder.path(), &ServerName::parse("a.b").expect("a name"));
        let mut kept = KeptLogin::nothing("https://h/mcp");
        kept.remember(client("https://i", Some(100)));
        kept.grant = Some(Grant {
            access_token: Secret::new("t"),
            refresh_token: Some(Secret::new("r")),
            ..Grant::default()
        });
        kept.save(&file).expect("it is written");
        let again = KeptLogin::load(&file, "https://h/mcp");
        let grant = again.grant.as_ref().expect("tokens");
        assert_eq!(grant.access_token.reveal(), "t");
        assert_eq!(grant.refresh_token.as_ref().map(Secret::reveal), Some("r"));
        assert!(
            again.client("https://i", 99).is_some() && again.client("https://i", 100).is_none()
        );
        assert!(again.client("https://other", 0).is_none());
        assert!(KeptLogin::load(&file, "https://h/other").grant.is_none());
        let text = fs::read_to_string(&file).expect("it is ours");
        fs::write(&file, text.replace("\"version\": 1", "\"version\": 2")).expect("it is ours");
        assert!(
            read(&file).is_err(),
            "what is logged, and begun anew by the next save"
        );
        fs::write(&file, "{\"hunter2").expect("it is ours");
        assert!(KeptLogin::load(&file, "https://h/mcp").grant.is_none());
    }

    #[cfg(unix)]
    #[test]
    fn only_the_owner_can_read_it() {
        use std::os::unix::fs::MetadataExt;

        let folder = tempfile::tempdir().expect("a folder");
        let file = file_of(folder.path(), &ServerName::parse("a").expect("a name"));
        KeptLogin::nothing("https://h")
            .save(&file)
            .expect("it is written");
        let mode = |path: &Path| fs::metadata(path).expect("it is there").mode() & 0o777;
        assert_eq!(mode(&file), 0o600);
        assert_eq!(mode(file.parent().expect("a folder")), 0o700);
    }

    #[test]
    fn one_registration_is_kept_with_each_issuer() {
        let mut kept = KeptLogin::nothing("u");
        for n in 0..20 {
            kept.remember(client(&format!("https://{}", n % 10), None));
        }
        assert_eq!(kept.clients.len(), MOST_CLIENTS);
        kept.forget_client("https://9");
        assert!(kept.client("https://9", 0).is_none() && kept.client("https://8", 0).is_some());
    }
}
