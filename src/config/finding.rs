//! Mistakes in a configuration, as data: place, key and kind. A finding contains no value of the file, because that may be a secret.

use std::fmt;

use serde::de;

use super::{NoSecret, unknown_keys};
use crate::{
    failure::NextStep,
    text::{Secrets, TextKind, redact},
};

/// How many findings an error lists; it counts the others.
const NAMED: usize = 20;

/// An unknown key's error lists the known keys, unless there are more than these.
const LISTED: usize = 8;

/// A place in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LineColumn {
    /// Counted from 1.
    pub line: usize,
    /// Counted from 1, in characters.
    pub column: usize,
}

impl LineColumn {
    /// The place of a byte.
    pub(super) fn of_byte(text: &str, at: usize) -> Self {
        let before = text.get(..at).unwrap_or_default();
        let line = before.rsplit('\n').next().unwrap_or_default();
        Self {
            line: 1 + before.matches('\n').count(),
            column: 1 + line.chars().count(),
        }
    }
}

impl fmt::Display for LineColumn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}", self.line, self.column)
    }
}

/// A value read from the file, or what is wrong with it.
pub(super) type Checked<T = ()> = Result<T, ConfigFinding>;

/// One mistake.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigFinding {
    /// Where the key or element begins; nothing where there is no file.
    pub place: Option<LineColumn>,
    /// The key's path; in an entry the path within it.
    pub key: String,
    /// What is wrong.
    pub kind: FindingKind,
    /// The same as a byte offset; nothing until the reader sets it.
    pub(super) at: Option<usize>,
}

/// What is wrong with a key or its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FindingKind {
    /// The value cannot be used, for this reason.
    Value(String),
    /// The value cannot be a server's URL, for this reason.
    Url(&'static str),
    /// No such key exists.
    Unknown {
        /// The key that was probably meant.
        meant: Option<&'static str>,
        /// The keys that exist there.
        known: &'static [&'static str],
    },
    /// The key appears twice in one object.
    Repeated,
    /// The object lacks this key.
    Missing(&'static str),
    /// The value refers to this variable, which is not set.
    LacksVariable(String),
    /// The value refers to this secret, which cannot be read.
    LacksSecret {
        /// The secret's name.
        name: String,
        /// Why.
        why: Box<NoSecret>,
    },
    /// Not a key: this environment variable of mcpproxy's own has a value that cannot be used, for this reason.
    OwnVariable(&'static str),
    /// An empty text, which counts as an absent key.
    Blank,
    /// A consequence of another finding, which is not shown.
    Follows,
}

impl ConfigFinding {
    /// A finding without key and place, which the reader of the tree fills in.
    pub(super) fn of(kind: FindingKind) -> Self {
        Self {
            place: None,
            key: String::new(),
            kind,
            at: None,
        }
    }

    /// A value that cannot be used.
    pub(super) fn new(key: impl Into<String>, problem: impl fmt::Display) -> Self {
        Self {
            key: key.into(),
            ..Self::of(FindingKind::Value(problem.to_string()))
        }
    }

    /// The variable that is not set, if that is the mistake.
    pub(super) fn missing_variable(&self) -> Option<&str> {
        match &self.kind {
            FindingKind::LacksVariable(name) => Some(name),
            _ => None,
        }
    }

    /// The operator's next step where only a variable or a secret is missing.
    pub(super) fn step(&self) -> Option<NextStep> {
        match &self.kind {
            FindingKind::LacksVariable(name) => Some(NextStep::SetVariable {
                name: name.as_str().into(),
                also: Vec::new(),
            }),
            FindingKind::LacksSecret { name, why } => Some(match &**why {
                NoSecret::Missing => NextStep::SetSecret {
                    name: name.as_str().into(),
                    also: Vec::new(),
                },
                NoSecret::NotHere => NextStep::fix("use a variable of the daemon: `${NAME}`"),
                NoSecret::Unreadable { how, .. } => NextStep::act(how),
            }),
            _ => None,
        }
    }

    /// Whether only a variable or a secret is missing, which another process may have.
    pub(super) fn lacks_value(&self) -> bool {
        matches!(
            self.kind,
            FindingKind::LacksVariable(_) | FindingKind::LacksSecret { .. }
        )
    }

    /// Replaces these secrets in it by `***`.
    pub(super) fn without_secrets(mut self, secrets: &Secrets) -> Self {
        self.key = secrets.redacted(&self.key).into_owned();
        if let FindingKind::Value(problem) = &mut self.kind {
            *problem = secrets.redacted(problem).into_owned();
        }
        self
    }

    /// Adds the line and column of its byte in this text.
    pub(super) fn placed(self, text: &str) -> Self {
        Self {
            place: self.at.map(|at| LineColumn::of_byte(text, at)),
            ..self
        }
    }
}

impl fmt::Display for ConfigFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(place) = self.place {
            write!(f, "{place}: ")?;
        }
        let text = format!("`{}` {}", self.key, self.kind);
        f.write_str(&without_credentials(&text))
    }
}

impl fmt::Display for FindingKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value(problem) => f.write_str(problem),
            Self::Url(problem) | Self::OwnVariable(problem) => f.write_str(problem),
            Self::Unknown {
                meant: Some(meant), ..
            } => write!(f, "is unknown; did you mean `{meant}`?"),
            Self::Unknown { meant: None, known } if known.len() <= LISTED => {
                write!(f, "is unknown; use {}", unknown_keys::listed(known))
            }
            Self::Unknown { .. } => f.write_str("is unknown"),
            Self::Repeated => f.write_str("appears twice"),
            Self::Missing(key) => write!(f, "has no `{key}`"),
            Self::LacksVariable(name) => write!(f, "needs the variable {name}"),
            Self::LacksSecret { name, why } => write!(f, "needs the secret {name}{why}"),
            Self::Blank | Self::Follows => f.write_str("is empty"),
        }
    }
}

impl std::error::Error for ConfigFinding {}

impl de::Error for ConfigFinding {
    fn custom<T: fmt::Display>(problem: T) -> Self {
        Self::new("", problem)
    }

    fn invalid_type(_: de::Unexpected<'_>, wanted: &dyn de::Expected) -> Self {
        Self::new("", format_args!("must be {wanted}"))
    }

    fn invalid_value(_: de::Unexpected<'_>, wanted: &dyn de::Expected) -> Self {
        Self::new("", format_args!("must be {wanted}"))
    }

    fn unknown_field(key: &str, known: &'static [&'static str]) -> Self {
        let meant = unknown_keys::meant(key, known);
        Self::of(FindingKind::Unknown { meant, known })
    }

    fn missing_field(key: &'static str) -> Self {
        Self::of(FindingKind::Missing(key))
    }

    fn duplicate_field(_: &'static str) -> Self {
        Self::of(FindingKind::Repeated)
    }
}

/// Why a configuration as a whole cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// The text is not JSON with comments, or no object.
    #[error("{place}: {problem}")]
    Syntax {
        /// Where the parser stopped.
        place: LineColumn,
        /// What it expected there, or cannot read.
        problem: String,
    },
    /// Values that cannot be used, in the order of the file; never without any.
    #[error("{}", listed(.0))]
    Findings(Vec<ConfigFinding>),
}

impl ConfigError {
    /// These findings, sorted, with their places in this text.
    pub(super) fn of(findings: Vec<ConfigFinding>, text: &str) -> Self {
        let mut findings: Vec<ConfigFinding> =
            findings.into_iter().map(|one| one.placed(text)).collect();
        findings.sort_by_key(|finding| finding.at);
        findings.dedup();
        Self::Findings(findings)
    }

    /// Replaces these secrets in the findings by `***`.
    pub(super) fn without_secrets(self, secrets: &Secrets) -> Self {
        match self {
            Self::Findings(findings) => {
                let findings = findings.into_iter();
                Self::Findings(findings.map(|one| one.without_secrets(secrets)).collect())
            }
            syntax @ Self::Syntax { .. } => syntax,
        }
    }

    /// Whether the only mistake is in an environment variable of mcpproxy's own, and not in the file.
    pub fn is_of_own_variable(&self) -> bool {
        let findings = self.findings();
        matches!(findings, [one] if matches!(one.kind, FindingKind::OwnVariable(_)))
    }

    /// The findings; none where the text is not JSON.
    pub fn findings(&self) -> &[ConfigFinding] {
        match self {
            Self::Findings(findings) => findings,
            Self::Syntax { .. } => &[],
        }
    }
}

/// Masks what looks like a credential in a sentence about the file. Each word is checked by itself, because our own words, such as "token",
/// would make the next word look like one. References are kept: they show only names.
pub(super) fn without_credentials(sentence: &str) -> String {
    let words = sentence.split_inclusive(|c: char| c.is_whitespace() || matches!(c, '"' | '`'));
    let words = words.map(|word| {
        if word.contains("${") {
            word.into()
        } else {
            redact::redacted(word, TextKind::Prose)
        }
    });
    words.collect()
}

/// Findings in one sentence.
pub(super) fn listed(findings: &[ConfigFinding]) -> String {
    joined(findings, NAMED)
}

/// The first texts in one sentence, and how many more there are.
pub(super) fn joined(texts: &[impl ToString], most: usize) -> String {
    let named = texts.iter().take(most).map(ToString::to_string);
    let more = texts.len().saturating_sub(most);
    let more = (more > 0).then(|| format!("and {more} more"));
    named.chain(more).collect::<Vec<_>>().join("; ")
}
