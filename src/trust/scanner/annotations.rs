//! Compares the annotations of a tool with the effect that its words name: a tool that says "deletes" must not declare itself read-only.

use serde::Deserialize;

use super::{
    Severity::{self, Hold, Remark},
    excerpt::excerpt,
    findings::Findings,
    fold::fold,
    worded_effect::{
        WordedEffect::{self, Deletes, Executes, Unsure, Writes},
        each_word,
    },
};
use crate::wire::Raw;

/// An annotation by which a tool declares itself harmless.
#[derive(Clone, Copy, PartialEq)]
enum MildHint {
    ReadOnly,
    NotDestructive,
}

impl MildHint {
    fn in_annotations(annotations: &Raw) -> Option<Self> {
        #[derive(Deserialize, Default)]
        #[serde(rename_all = "camelCase", default)]
        struct Hints {
            read_only_hint: Option<bool>,
            destructive_hint: Option<bool>,
        }
        let hints: Hints = annotations.read().ok()?;
        if hints.read_only_hint == Some(true) {
            return Some(Self::ReadOnly);
        }
        (hints.destructive_hint == Some(false)).then_some(Self::NotDestructive)
    }

    /// The rule about it, and its member of the annotations.
    fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::ReadOnly => ("annotations.read_only", "readOnlyHint"),
            Self::NotDestructive => ("annotations.destructive", "destructiveHint"),
        }
    }
}

/// Verbs with an effect, in addition to those of [`WordedEffect`]. Many are also nouns, so they count only at the beginning of a name or a
/// description.
#[rustfmt::skip]
const ACTING: &[&str] = &[
    "allow", "apply", "archive", "ban", "block", "book", "buy", "charge", "clean", "clear", "close", "commit", "deactivate", "deploy",
    "disable", "empty", "enable", "expire", "flush", "flushall", "force", "format", "forward", "grant", "kick", "kill", "launch",
    "lock", "make", "mint", "mount", "order", "overwrite", "pause", "pays", "place", "post", "print", "promote", "prune", "push",
    "reboot", "refund", "reject", "release", "reset", "restart", "restore", "resize", "revoke", "rollback", "rotate", "sell", "ship",
    "shut", "shutdown", "sign", "start", "stop", "suspend", "swap", "switch", "terminate", "trade", "transfer", "unlock",
    "unsubscribe", "vote",
];

/// Whether a description says that the tool can run anything.
fn says_any(description: &str) -> bool {
    #[rustfmt::skip]
    const ANY: [&str; 6] = [
        "any ", "arbitrary", "shell", "full access", "statement", "whatever",
    ];
    let folded = fold(description);
    ANY.iter().any(|word| folded.contains(word))
}

/// Whether a text begins with such a verb.
fn acts(text: &str) -> bool {
    let first = each_word(text).next();
    first.is_some_and(|first| {
        let first = &*first;
        let plain = first.strip_suffix("es").unwrap_or(first);
        let plain = [first, plain, first.strip_suffix('s').unwrap_or(first)];
        let mut verbs = ACTING.iter();
        verbs.any(|verb| verb.bytes().next() == first.bytes().next() && plain.contains(verb))
    })
}

/// Compares the annotations of a tool with its name and the beginning of its description.
pub(super) fn read(definition: &Raw, findings: &mut Findings) {
    let [name, description, annotations] = definition
        .look_up(["name", "description", "annotations"])
        .map(|found| found.value);
    let Some(hint) = annotations.and_then(|annotations| MildHint::in_annotations(&annotations))
    else {
        return;
    };
    let text = |value: Option<Raw>| value.and_then(|value| value.string()).unwrap_or_default();
    let (name, description) = (text(name), text(description));
    if let Some(severity) = severity(hint, &name, &description) {
        let (rule, member) = hint.names();
        let beginning: String = description.chars().take(60).collect();
        let what = format!("{member}, and {name}: {beginning}");
        let place = format!("/annotations/{member}");
        findings.note(rule, severity, &place, excerpt(&what));
    }
}

/// The severity of this annotation on a tool with this name and description; `None` if they agree.
fn severity(hint: MildHint, name: &str, description: &str) -> Option<Severity> {
    let does = |effect, text: &str| match effect {
        Unsure if acts(text) => Writes,
        effect => effect,
    };
    let (by_name, by_description) = (
        WordedEffect::of_name(name),
        WordedEffect::of_description(description),
    );
    let named = does(by_name.unwrap_or(Unsure), name);
    // A verb that is a noun as well counts in a description only where the name says something.
    let described = if named == Unsure {
        by_description
    } else {
        does(by_description, description)
    };
    let whole = match by_name.unwrap_or(by_description) {
        Unsure if named != Unsure => named,
        Unsure => described,
        effect => effect,
    };
    let is_read_only = hint == MildHint::ReadOnly;
    match (whole, named, described) {
        // Name and description both name the effect, so it is no slip of one word, and not an effect on the arguments alone.
        (Writes | Deletes, Writes | Deletes, Writes | Deletes) if is_read_only => Some(Hold),
        (Executes, Executes, _) if is_read_only && says_any(description) => Some(Hold),
        (Deletes, ..) => Some(Remark),
        (Writes | Executes, ..) if is_read_only => Some(Remark),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trust::scanner::gravest;

    #[test]
    fn a_hint_that_is_milder_than_plain_words_is_a_finding() {
        for (name, description, annotations, expected) in [
            (
                "drop_table",
                "Drops a table.",
                r#"{"readOnlyHint":true}"#,
                Some(Hold),
            ),
            (
                "transfer",
                "Transfers money.",
                r#"{"readOnlyHint":true}"#,
                Some(Hold),
            ),
            (
                "tidy",
                "Removes old records.",
                r#"{"readOnlyHint":true}"#,
                Some(Remark),
            ),
            (
                "delete_x",
                "For tests.",
                r#"{"readOnlyHint":true}"#,
                Some(Remark),
            ),
            (
                "execute_command",
                "Runs it.",
                r#"{"readOnlyHint":true}"#,
                Some(Remark),
            ),
            (
                "delete_x",
                "Deletes it.",
                r#"{"destructiveHint":false}"#,
                Some(Remark),
            ),
            ("delete_x", "Deletes it.", r#"{"readOnlyHint":false}"#, None),
            (
                "create_x",
                "Creates it.",
                r#"{"destructiveHint":false}"#,
                None,
            ),
            ("add", "The sum.", r#"{"readOnlyHint":true}"#, None),
            (
                "list_deleted",
                "Lists it.",
                r#"{"readOnlyHint":true}"#,
                None,
            ),
            ("delete_x", "Deletes it.", "{}", None),
            ("delete_x", "Deletes it.", "7", None),
        ] {
            let definition = format!(
                r#"{{"name":"{name}","description":"{description}","annotations":{annotations}}}"#
            );
            let mut findings = Findings::default();
            read(&Raw::parse_str(&definition).expect("JSON"), &mut findings);
            let found: Option<Severity> = gravest(&findings.done());
            assert_eq!(found, expected, "{definition}");
        }
    }
}
