//! Tokens that a person issued to clients: in a file of the data folder, by their hashes, and part of the settings in force. A file that
//! cannot be read has none: nobody comes in by a slip.

use std::{
    fs::File,
    io,
    path::{Path, PathBuf},
    sync::Arc,
    time::SystemTime,
};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::server_auth::{TokenHash, check_name, check_subject};
use crate::{storage, text::moment};

/// The file in the data folder.
const FILE: &str = "tokens.json";

/// The lock of whoever changes it.
const LOCK: &str = "tokens.lock";

/// The most tokens: each request is compared with all of them.
const MOST_TOKENS: usize = 1_000;

/// The largest file, in bytes.
const LARGEST: u64 = 4 << 20;

/// The tools that a token may call, by their call type.
#[derive(
    Debug,
    Clone,
    Copy,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum AllowedCalls {
    /// Tools that only read, prompts, resources and searches.
    #[default]
    Read,
    /// Also tools that write.
    Write,
    /// All tools, including destructive ones.
    All,
}

impl AllowedCalls {
    /// After `the token "x" `.
    pub fn in_words(self) -> &'static str {
        match self {
            Self::Read => "may only read",
            Self::Write => "may read and write, but not delete",
            Self::All => "may call everything",
        }
    }
}

/// A token that a person issued.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IssuedToken {
    /// Its name.
    pub name: String,
    /// Whose it is, for rules and records.
    pub subject: String,
    /// The roles of whoever shows it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub roles: Vec<String>,
    /// The servers it is for; all where none are named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub servers: Option<Vec<String>>,
    /// The profile it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// The call types it allows.
    pub calls: AllowedCalls,
    /// When it was made, in milliseconds since 1970.
    pub created: u64,
    /// When it ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<u64>,
    /// What it begins with, so that people can tell it from others.
    pub begins: String,
    /// What requests are compared with.
    pub hash: TokenHash,
}

impl IssuedToken {
    /// Begins the text of each, so that it is known for one.
    pub const PREFIX: &str = "mcpp_";

    /// Whether its time is over.
    pub fn is_expired(&self) -> bool {
        self.expires
            .is_some_and(|expires| expires <= moment::millis(SystemTime::now()))
    }

    /// Why it cannot be one, if it cannot.
    fn fault(&self) -> Option<String> {
        let of_name = check_subject(&self.name).map_err(|why| format!("{:?} {why}", self.name));
        let of_subject = check_subject(&self.subject).map_err(|why| format!("the subject {why}"));
        let mut of_roles = self.roles.iter().map(|role| check_name(role));
        let of_roles = of_roles
            .find_map(Result::err)
            .map(|why| format!("a role {why}"));
        let both = (self.servers.is_some() && self.profile.is_some())
            .then(|| "give servers or a profile, not both".to_owned());
        of_name.and(of_subject).err().or(of_roles).or(both)
    }
}

/// All of them. Cheap to clone.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IssuedTokens(Arc<[IssuedToken]>);

#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    version: u32,
    tokens: Vec<IssuedToken>,
}

/// Why the tokens were not changed.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    /// The disk said no, or the file is not one of ours.
    #[error("the token file cannot be used: {}", storage::in_words(.0))]
    Io(#[from] io::Error),
    /// There is one of this name.
    #[error("no token was issued: a token {0:?} already exists")]
    Exists(String),
    /// There is none of this name.
    #[error("there is no token {0:?}")]
    Unknown(String),
    /// It cannot be one.
    #[error("no token was issued: {0}")]
    Wrong(String),
}

impl IssuedTokens {
    /// Where those of a data folder are.
    pub fn file_in(data_dir: &Path) -> PathBuf {
        data_dir.join(FILE)
    }

    /// Those in this data folder. Blocks.
    pub fn read(data_dir: &Path) -> io::Result<Self> {
        read(data_dir).map(|tokens| Self(tokens.into()))
    }

    /// The token of this digest. Looks at all of them, so that the time says nothing of where it stands.
    pub fn find(&self, hash: &TokenHash) -> Option<&IssuedToken> {
        let mut found = None;
        for token in self.0.iter() {
            if token.hash == *hash {
                found = Some(token);
            }
        }
        found
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &IssuedToken> {
        self.0.iter()
    }

    /// Adds one. Blocks.
    pub fn add(data_dir: &Path, token: IssuedToken) -> Result<(), TokenError> {
        if let Some(fault) = token.fault() {
            return Err(TokenError::Wrong(fault));
        }
        change(data_dir, |tokens| {
            let mut names = tokens.iter().map(|known| &known.name);
            if names.any(|name| name.eq_ignore_ascii_case(&token.name)) {
                return Err(TokenError::Exists(token.name));
            }
            if tokens.len() >= MOST_TOKENS {
                let why = format!("there are already {MOST_TOKENS}; revoke unused ones");
                return Err(TokenError::Wrong(why));
            }
            tokens.push(token);
            Ok(())
        })
    }

    /// Takes one away. Blocks.
    pub fn remove(data_dir: &Path, name: &str) -> Result<IssuedToken, TokenError> {
        change(data_dir, |tokens| {
            let place = tokens.iter().position(|token| token.name == name);
            let place = place.ok_or_else(|| TokenError::Unknown(name.to_owned()))?;
            Ok(tokens.remove(place))
        })
    }
}

fn read(data_dir: &Path) -> io::Result<Vec<IssuedToken>> {
    let text = match storage::read_text(&IssuedTokens::file_in(data_dir), LARGEST) {
        Ok(text) => text,
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
            ) =>
        {
            return Ok(Vec::new());
        }
        Err(error) => return Err(error),
    };
    let unlike = |why: String| io::Error::new(io::ErrorKind::InvalidData, why);
    let stored: Stored = serde_json::from_str(&text).map_err(|error| {
        let is_other = error.is_data();
        let what = if is_other {
            "not as mcpproxy writes it"
        } else {
            "not valid JSON"
        };
        let (line, column) = (error.line(), error.column());
        unlike(format!("it is {what}: line {line}, column {column}"))
    })?;
    if stored.version != 1 {
        return Err(unlike(format!("version {} is not known", stored.version)));
    }
    match stored.tokens.iter().find_map(IssuedToken::fault) {
        Some(fault) => Err(unlike(fault)),
        None => Ok(stored.tokens),
    }
}

/// Reads, changes and writes them, while nobody else does.
fn change<T>(
    data_dir: &Path,
    change: impl FnOnce(&mut Vec<IssuedToken>) -> Result<T, TokenError>,
) -> Result<T, TokenError> {
    storage::create_private_dir(data_dir)?;
    let mut options = File::options();
    let lock = storage::open_private_file(
        &data_dir.join(LOCK),
        options.read(true).append(true).create(true),
    )?;
    // Whoever holds it writes one small file.
    lock.lock()?;
    let mut tokens = read(data_dir)?;
    let changed = change(&mut tokens)?;
    let stored = serde_json::to_vec_pretty(&Stored { version: 1, tokens });
    let stored = stored.map_err(io::Error::from)?;
    storage::write_despite_full_disk(&IssuedTokens::file_in(data_dir), &stored)?;
    Ok(changed)
}

#[cfg(test)]
mod tests;
