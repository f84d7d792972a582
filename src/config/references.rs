//! References in strings: `${VAR}`, `${env:VAR}`, `${VAR:-default}`, `${keyring:NAME}`, and `$${` for a literal `${`.
//!
//! The caller passes the lookup of values. References in these values are not resolved.

use super::{
    finding::FindingKind,
    keyring::{self, NoSecret, is_secret_name},
};
use crate::text::secret::{MASK, Secret};

/// Gives the value of an environment variable, if it is set.
pub type VariableLookup<'a> = &'a (dyn Fn(&str) -> Option<String> + Sync);

/// Gives the value of a secret, or why it cannot be used.
pub(super) type SecretLookup<'a> = &'a (dyn Fn(&str) -> Result<Secret, NoSecret> + Sync);

/// Where the values of references come from.
#[derive(Clone, Copy)]
pub(super) struct ValueLookup<'a> {
    pub(super) variables: VariableLookup<'a>,
    pub(super) secrets: SecretLookup<'a>,
}

impl<'a> ValueLookup<'a> {
    /// A lookup of variables only: every secret is [`NoSecret::NotHere`].
    pub(super) fn to_variables(variables: VariableLookup<'a>) -> Self {
        Self {
            variables,
            secrets: &|_| Err(NoSecret::NotHere),
        }
    }
}

/// Whether the references in texts are resolved.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Resolution {
    /// Texts have the values of their references.
    Done,
    /// Texts are as they are written.
    Omitted,
}

impl Resolution {
    pub(super) fn is_done(self) -> bool {
        self == Self::Done
    }
}

/// A string of the configuration.
#[derive(Clone, PartialEq, Eq, serde::Deserialize)]
#[serde(rename = "$text")]
pub(super) struct Text {
    /// The text with the values of its references.
    pub(super) value: String,
    /// The text as it is written, with `***` in place of each reference, for listings.
    pub(super) shown: String,
    /// The text as it is written.
    pub(super) written: String,
}

impl Text {
    /// The same without spaces at both ends.
    pub(super) fn trimmed(&self) -> Self {
        let trim = |text: &str| text.trim().to_owned();
        Self {
            value: trim(&self.value),
            shown: trim(&self.shown),
            written: trim(&self.written),
        }
    }
}

/// The mistake of a reference without its end.
const UNCLOSED: &str = "has a \"${\" without its \"}\"; write \"$${\" for a literal \"${\"";

/// The mistake of a reference to a secret whose name is none.
const BAD_SECRET_NAME: &str = "refers to a secret by a name that no secret can have; use at most 128 letters, digits, `.`, `_`, `-` and `/`";

/// A string without resolving its references.
pub(super) fn literal(text: &str) -> Text {
    Text {
        value: text.to_owned(),
        shown: text.to_owned(),
        written: text.to_owned(),
    }
}

/// Resolves every reference in the text.
pub(super) fn expand(text: &str, lookup: ValueLookup<'_>) -> Result<Text, FindingKind> {
    let mut value = String::with_capacity(text.len());
    for (before, reference) in References(text) {
        value.push_str(&before.replace("$${", "${"));
        match reference {
            Some(inside) => value.push_str(&resolve(inside, lookup)?),
            None if has_open_reference(before) => {
                return Err(FindingKind::Value(UNCLOSED.to_owned()));
            }
            None => (),
        }
    }
    Ok(Text {
        value,
        shown: redacted(text),
        written: text.to_owned(),
    })
}

/// Whether a reference begins in the rest of a text, although none ends there.
fn has_open_reference(rest: &str) -> bool {
    let mut begins = rest.match_indices("${").map(|(at, _)| rest.split_at(at).0);
    begins.any(|before| !before.ends_with('$'))
}

/// The secrets that a string refers to.
pub(super) fn secret_names(text: &str) -> impl Iterator<Item = &str> {
    let names =
        References(text).filter_map(|(_, reference)| reference?.strip_prefix(keyring::PREFIX));
    names.filter(|name| is_secret_name(name))
}

/// The variables that a string refers to.
pub(super) fn variable_names(text: &str) -> impl Iterator<Item = &str> {
    let insides = References(text).filter_map(|(_, reference)| reference);
    let names = insides.map(|inside| {
        let name = inside.split_once(":-").map_or(inside, |(name, _)| name);
        name.strip_prefix("env:").unwrap_or(name)
    });
    names.filter(|name| is_variable_name(name))
}

/// A text with the values of its references to variables, and these values, which must not be shown.
pub struct WithVariables {
    /// The text.
    pub text: String,
    /// The values in it.
    pub values: Vec<String>,
}

/// Resolves a string of an entry with these variables. A reference to a secret is an error, because secrets are not looked up here.
pub fn with_variables(text: &str, variables: VariableLookup<'_>) -> Result<WithVariables, String> {
    let lookup = ValueLookup::to_variables(variables);
    let whole = expand(text, lookup).map_err(|error| error.to_string())?;
    let references = References(text).filter_map(|(_, reference)| reference);
    Ok(WithVariables {
        text: whole.value,
        values: references
            .filter_map(|inside| resolve(inside, lookup).ok())
            .collect(),
    })
}

/// The text as listings show it: `***` in place of each reference, and the rest as it is written, so that it can be written back.
pub(super) fn redacted(text: &str) -> String {
    rewritten(text, str::to_owned, |_| MASK.to_owned())
}

/// The pieces of a text: the literal before a reference, and the reference's inside; at the end the last literal alone.
pub(super) struct References<'a>(&'a str);

impl<'a> References<'a> {
    /// The references of a text as they are written, except that defaults are masked. One that is not closed does not count.
    pub(super) fn of(text: &'a str) -> impl Iterator<Item = String> {
        let pieces = Self(text);
        pieces.filter_map(|(_, reference)| reference.map(shown_reference))
    }
}

impl<'a> Iterator for References<'a> {
    type Item = (&'a str, Option<&'a str>);

    fn next(&mut self) -> Option<Self::Item> {
        let text = self.0;
        if text.is_empty() {
            return None;
        }
        let mut from = 0;
        while let Some(at) = text.get(from..).and_then(|rest| rest.find("${")) {
            let at = from + at;
            let (before, after) = (text.get(..at)?, text.get(at + 2..)?);
            if before.ends_with('$') {
                from = at + 2;
                continue;
            }
            let Some((inside, rest)) = after.split_once('}') else {
                break;
            };
            self.0 = rest;
            return Some((before, Some(inside)));
        }
        self.0 = "";
        Some((text, None))
    }
}

/// The text with what `literal` and `reference` make of its pieces; `reference` gets the inside of the braces.
fn rewritten(
    text: &str,
    literal: impl Fn(&str) -> String,
    reference: impl Fn(&str) -> String,
) -> String {
    let pieces = References(text);
    let pieces =
        pieces.flat_map(|(before, inside)| [Some(literal(before)), inside.map(&reference)]);
    pieces.flatten().collect()
}

/// The text with its references to secrets renamed, where `name` gives another name.
pub fn with_secrets_renamed(text: &str, name: &dyn Fn(&str) -> Option<String>) -> String {
    rewritten(text, str::to_owned, |inside| {
        match inside.strip_prefix(keyring::PREFIX).and_then(name) {
            Some(name) => format!("${{{}{name}}}", keyring::PREFIX),
            None => format!("${{{inside}}}"),
        }
    })
}

/// A reference as listings and errors show it: the name, and `***` for a default.
fn shown_reference(inside: &str) -> String {
    match inside.split_once(":-") {
        Some((name, _)) => format!("${{{}:-{MASK}}}", shown_name(name)),
        None => format!("${{{}}}", shown_name(inside)),
    }
}

/// A name as listings and errors show it. Of an invalid name, which may be a part of a password, only a kind such as `vault:` is shown.
fn shown_name(name: &str) -> String {
    let secret_name = name.strip_prefix(keyring::PREFIX);
    let variable = name.strip_prefix("env:").unwrap_or(name);
    let is_name = secret_name.is_some_and(is_secret_name) || is_variable_name(variable);
    if is_name || name.is_empty() {
        return name.to_owned();
    }
    let kind = name.split_once(':').map(|(kind, _)| kind);
    let kind = kind.filter(|kind| is_variable_name(kind));
    kind.map_or_else(|| MASK.to_owned(), |kind| format!("{kind}:{MASK}"))
}

/// The text with its references by name, defaults masked, and what `literal` makes of everything else.
pub(super) fn with_literals(text: &str, literal: impl Fn(&str) -> String) -> String {
    rewritten(text, literal, shown_reference)
}

/// The text with what `default` makes of the defaults of its references.
pub(super) fn with_defaults(text: &str, default: impl Fn(&str) -> String) -> String {
    rewritten(text, str::to_owned, |inside| {
        match inside.split_once(":-") {
            Some((name, value)) => format!("${{{name}:-{}}}", default(value)),
            None => format!("${{{inside}}}"),
        }
    })
}

/// The text with its references by name, defaults masked.
pub(super) fn by_name(text: &str) -> String {
    with_literals(text, str::to_owned)
}

/// The value of a reference, of which `inside` is between the braces.
fn resolve(inside: &str, lookup: ValueLookup<'_>) -> Result<String, FindingKind> {
    // `${keyring:-x}` is not the variable `keyring` with the default `x`: what a reference means must not depend on its default.
    if let Some(name) = inside.strip_prefix(keyring::PREFIX) {
        if !is_secret_name(name) {
            return Err(FindingKind::Value(BAD_SECRET_NAME.to_owned()));
        }
        let found = (lookup.secrets)(name);
        return found
            .map(|secret| secret.reveal().to_owned())
            .map_err(|why| {
                let (name, why) = (name.to_owned(), Box::new(why));
                FindingKind::LacksSecret { name, why }
            });
    }
    let (name, default) = match inside.split_once(":-") {
        Some((name, default)) => (name, Some(default)),
        None => (inside, None),
    };
    let name = name.strip_prefix("env:").unwrap_or(name);
    if !is_variable_name(name) || default.is_some_and(|d| d.contains("${")) {
        let shown = shown_reference(inside);
        return Err(FindingKind::Value(format!(
            "has the unknown reference \"{shown}\"; write ${{NAME}}, ${{keyring:NAME}}, or \"$${{\" for a literal \"${{\""
        )));
    }
    match ((lookup.variables)(name), default) {
        // As in a shell, `:-` also replaces an empty value.
        (Some(value), Some(default)) if value.is_empty() => Ok(default.to_owned()),
        (Some(value), _) => Ok(value),
        (None, Some(default)) => Ok(default.to_owned()),
        (None, None) => Err(FindingKind::LacksVariable(name.to_owned())),
    }
}

fn is_variable_name(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit())
        // Windows has `ProgramFiles(x86)`.
        && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '(' | ')'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(name: &str) -> Option<String> {
        match name {
            "TOKEN" => Some("s3cret".to_owned()),
            "EMPTY" => Some(String::new()),
            "TRICKY" => Some("${TOKEN}".to_owned()),
            _ => None,
        }
    }

    fn secret(name: &str) -> Result<Secret, NoSecret> {
        match name {
            "gh/token" => Ok(Secret::new("k3y")),
            _ => Err(NoSecret::Missing),
        }
    }

    fn lookup() -> ValueLookup<'static> {
        ValueLookup {
            variables: &environment,
            secrets: &secret,
        }
    }

    #[track_caller]
    fn check(input: &str, value: &str, shown: &str) {
        let text = expand(input, lookup()).expect("good references");
        assert_eq!((text.value.as_str(), text.shown.as_str()), (value, shown));
    }

    #[test]
    fn references_resolve_and_are_redacted() {
        check("plain $HOME {x}", "plain $HOME {x}", "plain $HOME {x}");
        check("${TOKEN}", "s3cret", "***");
        check("Bearer ${env:TOKEN}!", "Bearer s3cret!", "Bearer ***!");
        check("${NONE:-a:b}", "a:b", "***");
        check("${env:NONE:-}", "", "***");
        check("${EMPTY:-x}${EMPTY}", "x", "******");
        check("${TOKEN:-x}", "s3cret", "***");
        check("$${TOKEN} $$ $", "${TOKEN} $$ $", "$${TOKEN} $$ $");
        check("$$${TOKEN}", "$${TOKEN}", "$$${TOKEN}");
        check("é${TOKEN}é", "és3creté", "é***é");
        check("Bearer ${keyring:gh/token}", "Bearer k3y", "Bearer ***");
    }

    #[test]
    fn variables_are_put_in_and_secrets_are_not() {
        let all = |text: &str| with_variables(text, &environment).map(|all| (all.text, all.values));
        let values = vec!["s3cret".to_owned(), "x".to_owned()];
        let whole = "a/s3cret/x/${b}".to_owned();
        assert_eq!(all("a/${TOKEN}/${env:NONE:-x}/$${b}"), Ok((whole, values)));
        assert_eq!(all("plain"), Ok(("plain".to_owned(), Vec::new())));
        let why = |text: &str| all(text).expect_err("nothing is known");
        assert!(why("${NONE}").contains("variable NONE"));
        assert!(why("x${keyring:gh/token}").contains("gh/token"));
    }

    #[test]
    fn secrets_are_found_in_a_string() {
        let check = |text: &str, expected: &[&str]| {
            assert_eq!(secret_names(text).collect::<Vec<_>>(), expected, "{text}");
        };
        check("Bearer ${keyring:gh} ${keyring:a/b}", &["gh", "a/b"]);
        check("$${keyring:literal} ${env:B} ${keyring:", &[]);
        check("$$${keyring:literal}", &[]);
        check("${keyring:}${keyring:a b}", &[]);
    }

    #[test]
    fn what_a_reference_gave_is_not_resolved_again() {
        check("${TRICKY}", "${TOKEN}", "***");
    }

    #[test]
    fn a_missing_or_odd_reference_is_named() {
        let check = |input: &str, expected: &str| {
            let error = expand(input, lookup())
                .err()
                .expect("a bad reference")
                .to_string();
            assert!(error.contains(expected), "{error}");
        };
        check("${NONE}", "needs the variable NONE");
        check("${env:NONE}", "needs the variable NONE");
        check("${keyring:gh}", "needs the secret gh");
        check("${keyring:}", "a name that no secret can have");
        check("${keyring:a b}", "a name that no secret can have");
        check("${keyring:-a b}", "a name that no secret can have");
        check("${input:x}", "\"${input:***}\"");
        check("${a b}", "\"${***}\"");
        check("${}", "\"${}\"");
        check("${A:-${B}}", "unknown reference \"${A:-***}\"");
        check("${vault:s3cret}", "\"${vault:***}\"");
        check("${N:-${M:-ghp_0123456789}}", "\"${N:-***}\"");
        check("a ${TOKEN", "without its \"}\"");
    }
}
