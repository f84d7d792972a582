//! Globs of a server's own tool names: which tools are offered (`enabled_tools`, `disabled_tools`), and their classes (`tool_acl`).

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use schemars::JsonSchema;
use serde::Deserialize;

use super::values::{Word, schema_as};
use crate::text::visible::letters;

/// A compiled set of globs. Two sets are equal if their patterns are.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(try_from = "Vec<Word>")]
pub struct Globs {
    patterns: Vec<String>,
    set: GlobSet,
    /// The same set ignoring case.
    folded: GlobSet,
}

/// A pattern that is no glob.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{pattern:?} is not a glob: {problem}")]
pub struct BadGlob {
    /// The pattern as written.
    pub pattern: String,
    /// What is wrong with it.
    pub problem: String,
}

fn problem(found: &globset::ErrorKind) -> String {
    use globset::ErrorKind;
    match found {
        ErrorKind::UnclosedClass => "its `[` has no `]`".to_owned(),
        ErrorKind::InvalidRange(from, to) => format!("`{from}-{to}` is the wrong way round"),
        ErrorKind::UnopenedAlternates => "its `}` has no `{`".to_owned(),
        ErrorKind::UnclosedAlternates => "its `{` has no `}`".to_owned(),
        ErrorKind::DanglingEscape => "nothing follows its last `\\`".to_owned(),
        _ => "it is too long or nested too deeply".to_owned(),
    }
}

impl Globs {
    /// Compiles the patterns. `*` matches any run of characters, `/` included.
    pub fn new(patterns: Vec<String>) -> Result<Self, BadGlob> {
        let bad = |pattern: &str, error: &globset::Error| BadGlob {
            pattern: pattern.to_owned(),
            problem: problem(error.kind()),
        };
        let compiled = |is_folded: bool| {
            let mut builder = GlobSetBuilder::new();
            for pattern in &patterns {
                let glob = GlobBuilder::new(pattern)
                    .backslash_escape(true)
                    .case_insensitive(is_folded)
                    .build()
                    .map_err(|error| bad(pattern, &error))?;
                builder.add(glob);
            }
            let set = builder.build();
            set.map_err(|error| bad(&patterns.join(", "), &error))
        };
        let (set, folded) = (compiled(false)?, compiled(true)?);
        Ok(Self {
            patterns,
            set,
            folded,
        })
    }

    /// Whether any pattern matches the whole name.
    pub fn matches(&self, name: &str) -> bool {
        // Most servers have no patterns, and a search asks this for every tool.
        !self.patterns.is_empty() && self.set.is_match(name)
    }

    /// Whether any pattern matches another spelling of the name: in other case, with blanks around it, with blanks or hyphens in place of
    /// underscores, percent-encoded, or with letters that look alike.
    pub fn matches_loosely(&self, name: &str) -> bool {
        let is_blank = |c: char| c.is_whitespace() || c.is_control();
        let name = letters::in_ascii(name);
        let name = name.trim_matches(is_blank);
        self.folded.is_match(name) || self.folded.is_match(name.replace([' ', '-'], "_"))
    }

    /// The patterns as written.
    pub fn patterns(&self) -> &[String] {
        &self.patterns
    }

    /// Whether there is no pattern, so that nothing matches.
    pub fn is_empty(&self) -> bool {
        self.patterns.is_empty()
    }
}

schema_as!(Globs, Vec<String>);

impl TryFrom<Vec<Word>> for Globs {
    type Error = String;

    fn try_from(words: Vec<Word>) -> Result<Self, String> {
        let patterns = words.iter().map(|word| word.0.value.clone()).collect();
        Self::new(patterns).map_err(|mut bad| {
            // Shown as it is written, because the value of a reference may be a secret.
            let word = words.iter().find(|word| word.0.value == bad.pattern);
            bad.pattern = word.map_or_else(String::new, |word| word.0.shown.clone());
            format!("cannot be used: {bad}")
        })
    }
}

impl PartialEq for Globs {
    fn eq(&self, other: &Self) -> bool {
        self.patterns == other.patterns
    }
}

impl Eq for Globs {}

/// `enabled_tools` and `disabled_tools` of one server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolFilter {
    /// If given, only these tools are offered; with an empty list none.
    pub enabled: Option<Globs>,
    /// These tools are never offered, even if they are in `enabled`.
    pub disabled: Globs,
}

impl ToolFilter {
    /// Whether a tool of this name is offered at all.
    pub fn allows(&self, tool: &str) -> bool {
        !self.disabled.matches(tool) && self.enabled.as_ref().is_none_or(|e| e.matches(tool))
    }
}

/// What a tool may do, as a person classified it in `tool_acl`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolClass {
    /// It only reads.
    Read,
    /// It changes something.
    Write,
    /// It may delete or overwrite something.
    Destructive,
}

/// `tool_acl` of one server: your classification of its tools.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(inline)]
pub struct ToolAcl {
    /// Names of tools that read, with * for any characters.
    pub read: Globs,
    /// Names of tools that write, with * for any characters.
    pub write: Globs,
    /// Names of tools that can delete or overwrite, with * for any characters.
    pub destructive: Globs,
}

impl ToolAcl {
    /// The class of a tool; if several match, the most dangerous one.
    pub fn class(&self, tool: &str) -> Option<ToolClass> {
        if self.destructive.matches(tool) {
            Some(ToolClass::Destructive)
        } else if self.write.matches(tool) {
            Some(ToolClass::Write)
        } else if self.read.matches(tool) {
            Some(ToolClass::Read)
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn globs(patterns: &[&str]) -> Globs {
        Globs::new(patterns.iter().map(|p| (*p).to_owned()).collect()).expect("good globs")
    }

    #[track_caller]
    fn check(enabled: Option<&[&str]>, disabled: &[&str], tool: &str, expected: bool) {
        let filter = ToolFilter {
            enabled: enabled.map(globs),
            disabled: globs(disabled),
        };
        assert_eq!(filter.allows(tool), expected, "{tool}");
    }

    #[test]
    fn tools_are_filtered_by_globs_on_their_own_names() {
        check(None, &[], "anything", true);
        check(Some(&["get_*"]), &[], "get_issue", true);
        check(Some(&["get_*"]), &[], "delete_issue", false);
        check(Some(&["get_*"]), &["*_secret"], "get_secret", false);
        check(None, &["{delete,drop}_*"], "drop_table", false);
        check(Some(&["files/*"]), &[], "files/deep/read", true);
        check(Some(&["*"]), &[], "files/read", true);
        check(Some(&["Get"]), &[], "get", false);
        check(Some(&[]), &[], "anything", false);
    }

    #[test]
    fn loosely_a_name_matches_in_other_spellings() {
        let globs = globs(&["delete_*", "wipeAll"]);
        for name in [
            "delete_x",
            "DELETE_X",
            " delete_x\n",
            "delete-x",
            "Delete x",
            "wipeall",
            "%64elete%5Fx",
            "ｄelete_x",
            "d\u{435}lete_x",
            "delete\u{200b}_x",
        ] {
            assert!(globs.matches_loosely(name), "{name:?}");
        }
        for name in ["undelete_x", "wipe_all", "delete", ""] {
            assert!(!globs.matches_loosely(name), "{name:?}");
        }
    }

    #[test]
    fn the_most_dangerous_class_wins() {
        let acl = ToolAcl {
            read: globs(&["*"]),
            write: globs(&["set_*"]),
            destructive: globs(&["*_all"]),
        };
        assert_eq!(acl.class("look"), Some(ToolClass::Read));
        assert_eq!(acl.class("set_x"), Some(ToolClass::Write));
        assert_eq!(acl.class("set_all"), Some(ToolClass::Destructive));
        assert_eq!(ToolAcl::default().class("look"), None);
    }

    #[test]
    fn a_bad_glob_is_named() {
        let error = Globs::new(vec!["a[".to_owned()]).expect_err("a bad glob");
        assert!(
            error.to_string().starts_with("\"a[\" is not a glob"),
            "{error}"
        );
    }
}
