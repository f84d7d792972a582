//! Tokens that a person issued to clients: a file in the data folder has their hashes, and they are part of the settings in force. A file
//! that cannot be read counts as empty, so that a damaged one lets nobody in.

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
    time::SystemTime,
};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::error::Category;

use super::server_auth::{MOST_TOKENS, TokenHash, check_name, check_subject};
use crate::{storage, text::moment};

/// The version of the file. The first one did not say which tokens `connect` issued.
const VERSION: u32 = 2;

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
            Self::Write => "may read and write, but not delete or overwrite",
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
    /// The caller whose token it is, for access rules and records.
    pub subject: String,
    /// The caller's roles.
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
    /// The AI client for whose file `connect` issued it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    /// When it was issued, in milliseconds since 1970.
    pub created: u64,
    /// When it expires, in milliseconds since 1970; never where nothing is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<u64>,
    /// The first characters of the token, so that people can tell it from others.
    pub begins: String,
    /// The digest that the tokens of requests are compared with.
    pub hash: TokenHash,
}

impl IssuedToken {
    /// How the text of every issued token begins.
    pub const PREFIX: &str = "mcpp_";

    /// Whether it has expired.
    pub fn is_expired(&self) -> bool {
        self.expires
            .is_some_and(|expires| expires <= moment::millis(SystemTime::now()))
    }

    /// Why it cannot be issued, if it cannot.
    fn fault(&self) -> Option<String> {
        let of_name =
            check_subject(&self.name).map_err(|why| format!("the name {:?} {why}", self.name));
        let of_subject = check_subject(&self.subject).map_err(|why| format!("the subject {why}"));
        let of_role = |role: &String| {
            let why = check_name(role).err()?;
            Some(format!("the role {role:?} {why}"))
        };
        let of_roles = self.roles.iter().find_map(of_role);
        let both = (self.servers.is_some() && self.profile.is_some())
            .then(|| "give servers or a profile, not both".to_owned());
        of_name.and(of_subject).err().or(of_roles).or(both)
    }
}

/// All issued tokens. Cheap to clone.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IssuedTokens {
    tokens: Arc<[IssuedToken]>,
    /// What to do about the file, if it cannot be used.
    step: Option<Arc<str>>,
}

#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    version: u32,
    tokens: Vec<IssuedToken>,
}

/// Why the tokens were not changed.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    /// The file cannot be read or written.
    #[error("the token file cannot be used: {}", storage::in_words(.0))]
    Io(#[from] io::Error),
    /// A token has this name already.
    #[error("no token was issued: a token {0:?} already exists")]
    Exists(String),
    /// No token has this name.
    #[error("there is no token {0:?}")]
    Unknown(String),
    /// The token cannot be issued, for this reason.
    #[error("no token was issued: {0}")]
    Wrong(String),
}

impl IssuedTokens {
    /// The file of the tokens in a data folder.
    pub fn file_in(data_dir: &Path) -> PathBuf {
        storage::DataFile::Tokens.within(data_dir)
    }

    /// The next step after an error with the file.
    pub fn step(data_dir: &Path, error: &io::Error) -> String {
        let path = Self::file_in(data_dir);
        let file = path.display();
        match (error.kind(), error.get_ref()) {
            (io::ErrorKind::InvalidData, Some(_)) => {
                format!("correct {file}, or move it away and issue every token again")
            }
            (io::ErrorKind::Other, _) => format!("update mcpproxy, or move {file} away"),
            _ => storage::disk_step(&path, error),
        }
    }

    /// Reads the tokens of this data folder. Blocks.
    pub fn read(data_dir: &Path) -> io::Result<Self> {
        read(data_dir).map(|tokens| Self {
            tokens: tokens.into(),
            step: None,
        })
    }

    /// The same; none of a file that cannot be used. Blocks.
    pub fn usable(data_dir: &Path) -> Self {
        Self::read(data_dir).unwrap_or_else(|error| Self {
            step: Some(Self::step(data_dir, &error).into()),
            ..Self::default()
        })
    }

    /// What to do about the file, if it cannot be used.
    pub fn step_if_unusable(&self) -> Option<&str> {
        self.step.as_deref()
    }

    /// The token of this digest. Compares all, so that the time shows nothing about the place of the token.
    pub fn find(&self, hash: &TokenHash) -> Option<&IssuedToken> {
        hash.find_in(&self.tokens, |token| token.hash)
    }

    /// The tokens in the order of the file.
    pub fn iter(&self) -> impl Iterator<Item = &IssuedToken> {
        self.tokens.iter()
    }

    /// Adds a token to the file. Blocks.
    pub fn add(data_dir: &Path, token: IssuedToken) -> Result<(), TokenError> {
        if let Some(fault) = token.fault() {
            return Err(TokenError::Wrong(fault));
        }
        change(data_dir, |tokens| {
            let mut names = tokens.iter().map(|known| &known.name);
            if let Some(taken) = names.find(|name| name.eq_ignore_ascii_case(&token.name)) {
                return Err(TokenError::Exists(taken.clone()));
            }
            if tokens.len() >= MOST_TOKENS {
                let why = format!("there are already {MOST_TOKENS} tokens; revoke unused ones");
                return Err(TokenError::Wrong(why));
            }
            tokens.push(token);
            Ok(())
        })
    }

    /// Removes a token from the file. Blocks.
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
        let what = match error.classify() {
            Category::Eof => return unlike("it ends too early".to_owned()),
            Category::Data => "not in mcpproxy's format",
            _ => "not valid JSON",
        };
        let (line, column) = (error.line(), error.column());
        unlike(format!("it is {what}: line {line}, column {column}"))
    })?;
    if !(1..=VERSION).contains(&stored.version) {
        return Err(io::Error::other(format!(
            "it has version {}, which this mcpproxy does not know",
            stored.version
        )));
    }
    match stored.tokens.iter().find_map(IssuedToken::fault) {
        Some(fault) => Err(unlike(fault)),
        None => Ok(stored.tokens),
    }
}

/// Reads, changes and writes the tokens under the lock.
fn change<T>(
    data_dir: &Path,
    change: impl FnOnce(&mut Vec<IssuedToken>) -> Result<T, TokenError>,
) -> Result<T, TokenError> {
    storage::create_private_dir(data_dir)?;
    let lock = storage::open_to_change(&storage::DataFile::TokensLock.within(data_dir))?;
    // A short wait: whoever holds it writes one small file.
    lock.lock()?;
    let mut tokens = read(data_dir)?;
    let changed = change(&mut tokens)?;
    let version = VERSION;
    let stored = serde_json::to_vec_pretty(&Stored { version, tokens });
    let stored = stored.map_err(io::Error::from)?;
    storage::write_despite_full_disk(&IssuedTokens::file_in(data_dir), &stored)?;
    Ok(changed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(name: &str) -> IssuedToken {
        IssuedToken {
            name: name.to_owned(),
            subject: name.to_owned(),
            roles: Vec::new(),
            servers: None,
            profile: None,
            calls: AllowedCalls::Read,
            client: None,
            created: 1,
            expires: None,
            begins: "mcpp_ab".to_owned(),
            hash: TokenHash::of(name),
        }
    }

    #[test]
    fn a_rule_for_the_caller_of_a_token_concerns_somebody() {
        let text = r#"{"serverAuth": {"provider": "bearer", "bearer": {"tokens": {"0123456789abcdef": "ada"}}, "acl": {"default": "allow", "rules": [ {"subjects": ["ben"], "policy": "deny"}, {"roles": ["support"], "policy": "deny"}, {"subjects": ["carla"], "policy": "deny"} ]}}}"#;
        let surroundings = crate::config::Surroundings {
            lookup: &|_| None,
            folder: Path::new("/"),
        };
        let mut settings = crate::config::parse(text, &surroundings).expect("sound");
        assert_eq!(settings.all_warnings().len(), 3);
        let ben = IssuedToken {
            roles: vec!["support".to_owned()],
            ..token("ben")
        };
        settings.issued = IssuedTokens {
            tokens: vec![ben].into(),
            step: None,
        };
        let [warning] = &settings.all_warnings()[..] else {
            panic!("{:?}", settings.all_warnings());
        };
        assert!(
            warning.text.contains("rules[2]") && warning.text.contains("carla"),
            "{warning}"
        );
    }

    #[test]
    fn tokens_are_kept_by_their_hashes_until_they_are_removed() {
        let folder = tempfile::tempdir().expect("a folder");
        let folder = folder.path();
        let of = |name: &str| {
            IssuedTokens::read(folder)
                .expect("readable")
                .find(&TokenHash::of(name))
                .cloned()
        };
        assert_eq!(of("ben-secret"), None);
        let ben = IssuedToken {
            hash: TokenHash::of("ben-secret"),
            ..token("ben")
        };
        IssuedTokens::add(folder, ben.clone()).expect("it is new");
        assert_eq!(of("ben-secret"), Some(ben.clone()));
        let text = std::fs::read_to_string(IssuedTokens::file_in(folder)).expect("text");
        assert!(!text.contains("ben-secret"), "{text}");
        // A file of the first version is read, too.
        let first = text.replace("\"version\": 2", "\"version\": 1");
        std::fs::write(IssuedTokens::file_in(folder), first).expect("ours");
        assert_eq!(of("ben-secret"), Some(ben.clone()));
        let again = IssuedTokens::add(
            folder,
            IssuedToken {
                name: "BEN".to_owned(),
                ..ben
            },
        );
        assert!(matches!(again, Err(TokenError::Exists(_))), "{again:?}");
        let nameless = IssuedTokens::add(folder, token("")).expect_err("it has no name");
        let expected = "no token was issued: the name \"\" is empty";
        assert_eq!(nameless.to_string(), expected);
        IssuedTokens::remove(folder, "ben").expect("it is there");
        assert_eq!(of("ben-secret"), None);
        let gone = IssuedTokens::remove(folder, "ben");
        assert!(matches!(gone, Err(TokenError::Unknown(_))), "{gone:?}");
    }

    #[test]
    fn a_file_with_anything_else_in_it_has_no_tokens() {
        let folder = tempfile::tempdir().expect("a folder");
        let folder = folder.path();
        IssuedTokens::add(folder, token("ben")).expect("it is new");
        let file = IssuedTokens::file_in(folder);
        let good = std::fs::read_to_string(&file).expect("text");
        for bad in [
            good.replace("\"read\"", "\"everything\""),
            good.replace(
                "\"calls\"",
                "\"servers\": [\"a\"], \"profile\": \"p\", \"calls\"",
            ),
            good.replace("\"calls\"", "\"call\": \"read\", \"calls\""),
            good.replace("\"version\": 2", "\"version\": 3"),
            good.replace("\"subject\": \"ben\"", "\"subject\": \"operator\""),
            good.replace('}', ""),
            String::new(),
        ] {
            assert_ne!(bad, good);
            std::fs::write(&file, &bad).expect("ours");
            IssuedTokens::read(folder).expect_err(&bad);
            IssuedTokens::add(folder, token("eve")).expect_err(&bad);
            let kept = std::fs::read_to_string(&file).expect("text");
            assert_eq!(kept, bad, "nothing is written over what cannot be read");
        }
        for (text, why, step) in [
            ("{\n", "it ends too early", "correct "),
            (
                r#"{"version": 3, "tokens": []}"#,
                "it has version 3, which this mcpproxy does not know",
                "update mcpproxy, or move ",
            ),
        ] {
            std::fs::write(&file, text).expect("ours");
            let error = IssuedTokens::read(folder).expect_err(text);
            assert_eq!(storage::in_words(&error), why);
            let shown = IssuedTokens::step(folder, &error);
            assert!(shown.starts_with(step), "{shown}");
            let unusable = IssuedTokens::usable(folder);
            assert_eq!(unusable.step_if_unusable(), Some(&*shown));
        }
    }
}
