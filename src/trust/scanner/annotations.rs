//! What a tool declares of itself, held against what its words say that it does.

use serde::Deserialize;

use super::{
    Severity::{Hold, Remark},
    findings::Findings,
    worded_effect::WordedEffect::{self, Deletes, Executes, Unsure, Writes},
};
use crate::wire::Raw;

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Hints {
    read_only_hint: Option<bool>,
    destructive_hint: Option<bool>,
}

/// Verbs that do something to the world, wherever a name begins with them or a description does: those of [`WordedEffect`] and these, which
/// are nouns as well and so say nothing alone.
#[rustfmt::skip]
const ACTING: &[&str] = &[
    "allow", "apply", "archive", "ban", "block", "book", "buy", "charge", "clean", "clear", "close", "commit", "deactivate", "deploy",
    "disable", "empty", "enable", "expire", "flush", "flushall", "force", "format", "forward", "grant", "kick", "kill", "launch",
    "lock", "make", "mint", "mount", "order", "overwrite", "pause", "pays", "place", "post", "print", "promote", "prune", "push",
    "reboot", "refund", "reject", "release", "reset", "restart", "restore", "resize", "revoke", "rollback", "rotate", "sell", "ship",
    "shut", "shutdown", "sign", "start", "stop", "suspend", "swap", "switch", "terminate", "trade", "transfer", "unlock",
    "unsubscribe", "vote",
];

/// Whether a description says that anything may be run.
fn says_any(description: &str) -> bool {
    let folded = super::fold::fold(description);
    [
        "any ",
        "arbitrary",
        "shell",
        "full access",
        "statement",
        "whatever",
    ]
    .iter()
    .any(|word| folded.contains(word))
}

/// Whether a text begins with such a verb.
fn acts(text: &str) -> bool {
    let folded = super::fold::words_of_name(text);
    let first = folded
        .split(|c: char| !c.is_alphanumeric())
        .find(|word| !word.is_empty());
    first.is_some_and(|first| {
        let plain = first.strip_suffix("es").unwrap_or(first);
        let plain = [first, plain, first.strip_suffix('s').unwrap_or(first)];
        let mut verbs = ACTING.iter();
        verbs.any(|verb| verb.bytes().next() == first.bytes().next() && plain.contains(verb))
    })
}

/// Compares the hints of a tool with its name and with how its description begins. A milder hint decides nothing: the gate takes the words.
pub(super) fn read(definition: &Raw, findings: &mut Findings) {
    let [name, description, annotations] = definition
        .look_up(["name", "description", "annotations"])
        .map(|found| found.value);
    let hints: Hints = annotations
        .and_then(|annotations| annotations.read().ok())
        .unwrap_or_default();
    let (hint, rule) = match hints {
        Hints {
            read_only_hint: Some(true),
            ..
        } => ("readOnlyHint", "annotations.read_only"),
        Hints {
            destructive_hint: Some(false),
            ..
        } => ("destructiveHint", "annotations.destructive"),
        _ => return,
    };
    let text = |value: Option<Raw>| value.and_then(|value| value.string()).unwrap_or_default();
    let (name, description) = (text(name), text(description));
    let described = WordedEffect::of_description(&description);
    let by_name = WordedEffect::of_name(&name);
    let whole = by_name.unwrap_or(described);
    let does = |effect, text: &str| match effect {
        Unsure if acts(text) => Writes,
        effect => effect,
    };
    let named = does(by_name.unwrap_or(Unsure), &name);
    let described = if named == Unsure {
        described
    } else {
        does(described, &description)
    };
    let whole = match whole {
        Unsure if named != Unsure => named,
        Unsure => described,
        effect => effect,
    };
    let severity = match (whole, named, described) {
        // Name and description agree: nobody made a slip with one word, and it is not only done to what is handed in.
        (Deletes, Deletes, Deletes) | (Writes | Deletes, Writes | Deletes, Writes | Deletes)
            if hint == "readOnlyHint" =>
        {
            Hold
        }
        (Executes, Executes, _) if hint == "readOnlyHint" && says_any(&description) => Hold,
        (Deletes, ..) => Remark,
        (Writes | Executes, ..) if hint == "readOnlyHint" => Remark,
        _ => return,
    };
    let beginning: String = description.chars().take(60).collect();
    let what = format!("{hint}, and {name}: {beginning}");
    let escaped = super::excerpt::excerpt(&what, 0..what.len());
    findings.note(rule, severity, &format!("/annotations/{hint}"), escaped);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trust::scanner::{Severity, gravest};

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
