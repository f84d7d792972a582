//! What is wrong in a configuration, as data: the place, the key and the kind. Values never stand in it, because they may be secrets.

use std::fmt;

use serde::de;

use super::{NoSecret, unknown_keys};
use crate::{
    failure::NextStep,
    text::{Secrets, TextKind, redact},
};

/// Findings that are named; the others are counted.
const NAMED: usize = 20;

/// More keys than these are not listed where one is unknown.
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
    /// Of what stands at this byte.
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

/// What a value of the file is read as.
pub(super) type Checked<T = ()> = Result<T, ConfigFinding>;

/// Something that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigFinding {
    /// Where its key or element begins, where there is a file.
    pub place: Option<LineColumn>,
    /// The key's path; in an entry the path within it.
    pub key: String,
    /// What is wrong.
    pub kind: FindingKind,
    /// The byte of the place; nothing until the reader says it.
    pub(super) at: Option<usize>,
}

/// What is wrong with a key or its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FindingKind {
    /// The value cannot be used, for this reason.
    Value(String),
    /// It is the URL of no server, for this reason.
    Url(&'static str),
    /// The key means nothing.
    Unknown {
        /// The key that was probably meant.
        meant: Option<&'static str>,
        /// Those that there are.
        known: &'static [&'static str],
    },
    /// The key has been there before.
    Repeated,
    /// This key is not there.
    Missing(&'static str),
    /// It refers to this variable, which is not set.
    LacksVariable(String),
    /// It refers to this secret, which cannot be had.
    LacksSecret {
        /// The secret's name.
        name: String,
        /// Why.
        why: Box<NoSecret>,
    },
    /// It is no key: this variable, which mcpproxy itself reads, has a value that cannot be used, for this reason.
    OwnVariable(&'static str, &'static str),
    /// An empty text, which counts as an absent key.
    Blank,
    /// It follows from another finding.
    Follows,
}

impl ConfigFinding {
    /// At a place that the caller's caller knows.
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

    /// The variable that is missing, if one is.
    pub(super) fn missing_variable(&self) -> Option<&str> {
        match &self.kind {
            FindingKind::LacksVariable(name) => Some(name),
            _ => None,
        }
    }

    /// What the operator does where only a value is missing.
    pub(super) fn step(&self) -> Option<NextStep> {
        match &self.kind {
            FindingKind::LacksVariable(name) => Some(NextStep::SetVariable { name: name.clone() }),
            FindingKind::LacksSecret { name, why } => Some(match &**why {
                NoSecret::Missing => NextStep::SetSecret { name: name.clone() },
                NoSecret::NotHere => NextStep::fix("use a variable of the daemon: `${NAME}`"),
                NoSecret::Unreadable { how, .. } => NextStep::act(how),
            }),
            _ => None,
        }
    }

    /// Whether only the value is missing that it refers to.
    pub(super) fn lacks_value(&self) -> bool {
        matches!(
            self.kind,
            FindingKind::LacksVariable(_) | FindingKind::LacksSecret { .. }
        )
    }

    /// With none of these in it.
    pub(super) fn without_secrets(mut self, secrets: &Secrets) -> Self {
        self.key = secrets.redacted(&self.key).into_owned();
        if let FindingKind::Value(problem) = &mut self.kind {
            *problem = secrets.redacted(problem).into_owned();
        }
        self
    }

    /// With the line and column of its byte in this text.
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
            Self::Url(problem) | Self::OwnVariable(_, problem) => f.write_str(problem),
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
    #[error("line {line}, column {column}: {problem}")]
    Syntax {
        /// Counted from 1.
        line: usize,
        /// Counted from 1, in characters.
        column: usize,
        /// What the parser stumbled over.
        problem: String,
    },
    /// Values that cannot be used, in the order of the file; never without any.
    #[error("{}", listed(.0))]
    Findings(Vec<ConfigFinding>),
}

impl ConfigError {
    /// These, found in this text.
    pub(super) fn of(findings: Vec<ConfigFinding>, text: &str) -> Self {
        let mut findings: Vec<ConfigFinding> =
            findings.into_iter().map(|one| one.placed(text)).collect();
        findings.sort_by_key(|finding| finding.at);
        findings.dedup();
        Self::Findings(findings)
    }

    /// With none of these in it.
    pub(super) fn without_secrets(self, secrets: &Secrets) -> Self {
        match self {
            Self::Findings(findings) => {
                let findings = findings.into_iter();
                Self::Findings(findings.map(|one| one.without_secrets(secrets)).collect())
            }
            syntax @ Self::Syntax { .. } => syntax,
        }
    }

    /// The variable of mcpproxy's own that is all that is wrong.
    pub fn own_variable(&self) -> Option<&'static str> {
        let [finding] = self.findings() else {
            return None;
        };
        match finding.kind {
            FindingKind::OwnVariable(name, _) => Some(name),
            _ => None,
        }
    }

    /// What is wrong, where the text is JSON.
    pub fn findings(&self) -> &[ConfigFinding] {
        match self {
            Self::Findings(findings) => findings,
            Self::Syntax { .. } => &[],
        }
    }
}

/// A sentence about the file without what looks like a credential. Each word is looked at by itself: words of ours introduce none, and of
/// references nothing shows but names.
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
    let named = findings.iter().take(NAMED).map(ConfigFinding::to_string);
    let more = findings.len().saturating_sub(NAMED);
    let more = (more > 0).then(|| format!("and {more} more"));
    named.chain(more).collect::<Vec<_>>().join("; ")
}
