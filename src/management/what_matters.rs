//! What matters in a changed definition: the kinds of change, the gravest first, and a sentence about them. Pure.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::shown_finding::ShownFinding;
use crate::{
    config::differing,
    text::{capitalized, count, cut::common_ends, some_of},
    trust::scanner::Severity,
};

/// Limit: names of one kind of change. The whole definition has all.
const NAMES: usize = 20;

/// Limit: characters of a name.
const LONGEST_NAME: usize = 64;

/// How many of the names stand in the sentence.
const WORDED: usize = 4;

/// What matters in a changed definition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WhatMatters {
    /// The kinds of change: annotations first, then parameters, then texts.
    pub changes: Vec<DefinitionChange>,
    /// The change in a sentence, with the scanner's findings.
    pub sentence: String,
}

/// A change of a definition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct DefinitionChange {
    /// The kind of change.
    pub kind: ChangeKind,
    /// The names of the parameters or keys.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
    /// The number of new characters of a text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub characters: Option<usize>,
}

/// The kind of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum ChangeKind {
    /// No longer declares itself destructive.
    NoLongerDestructive,
    /// Now declares itself destructive.
    NowDestructive,
    /// No longer declares that it only reads.
    NoLongerReadOnly,
    /// Now declares that it only reads.
    NowReadOnly,
    /// Other annotations.
    Annotations,
    /// New required parameters.
    NewRequiredParameters,
    /// New optional parameters.
    NewParameters,
    /// Parameters that are now required.
    NowRequired,
    /// Removed parameters.
    RemovedParameters,
    /// Changed parameters.
    ChangedParameters,
    /// The rest of its input schema.
    InputSchema,
    /// Its description.
    Description,
    /// The instructions of a server.
    Instructions,
    /// Other keys.
    Members,
    /// A change that only the whole text shows.
    Other,
}

/// What matters between the approved definition and the one that is listed now.
pub(super) fn what_matters(before: &str, now: &str, findings: &[ShownFinding]) -> WhatMatters {
    let mut changes = changes(before, now);
    if changes.is_empty() {
        changes.push(DefinitionChange::of(ChangeKind::Other));
    }
    let mut sentences: Vec<String> = changes.iter().map(DefinitionChange::sentence).collect();
    let is_alone = changes.len() == 1 && changes.iter().all(|one| one.kind != ChangeKind::Other);
    sentences.push(found(findings, is_alone));
    WhatMatters {
        sentence: sentences.join(" "),
        changes,
    }
}

/// The end of the sentence: whether nothing else changed, and the number of findings.
fn found(findings: &[ShownFinding], is_alone: bool) -> String {
    let severities = findings.iter().map(|one| one.severity);
    let dangerous = severities.filter(|one| *one == Severity::Hold).count();
    let found = match (dangerous, findings.len()) {
        (0, 0) => "no findings".to_owned(),
        (0, minor) => count(minor, "minor finding"),
        (dangerous, _) => count(dangerous, "dangerous finding"),
    };
    if is_alone {
        return format!("Nothing else changed; {found}.");
    }
    capitalized(&found) + "."
}

fn changes(before: &str, now: &str) -> Vec<DefinitionChange> {
    let read = |text| serde_json::from_str::<Value>(text).unwrap_or_default();
    match (read(before), read(now)) {
        (Value::String(was), Value::String(is)) if was != is => {
            let kind = ChangeKind::Instructions;
            vec![DefinitionChange::of_text(kind, &was, &is)]
        }
        (Value::Object(was), Value::Object(is)) => of_members(&was, &is),
        _ => Vec::new(),
    }
}

fn of_members(was: &Map<String, Value>, is: &Map<String, Value>) -> Vec<DefinitionChange> {
    let none = Map::new();
    let [was_hints, is_hints] = [was, is].map(|of| member(of, "annotations").unwrap_or(&none));
    let mut changes = of_hints(was_hints, is_hints);
    let [was_schema, is_schema] = [was, is].map(|of| member(of, "inputSchema").unwrap_or(&none));
    changes.extend(of_parameters(was_schema, is_schema));
    let text = |of: &Map<String, Value>| {
        let text = of.get("description").and_then(Value::as_str);
        text.unwrap_or_default().to_owned()
    };
    let (before, now) = (text(was), text(is));
    if before != now {
        let change = DefinitionChange::of_text(ChangeKind::Description, &before, &now);
        changes.push(change);
    }
    let shown = ["annotations", "inputSchema", "description"];
    let others = differing(was, is).into_iter();
    let others = others.filter(|name| !shown.contains(name));
    changes.extend(DefinitionChange::about(ChangeKind::Members, others));
    changes
}

fn member<'a>(of: &'a Map<String, Value>, name: &str) -> Option<&'a Map<String, Value>> {
    of.get(name)?.as_object()
}

fn of_hints(was: &Map<String, Value>, is: &Map<String, Value>) -> Vec<DefinitionChange> {
    let says = |of: &Map<String, Value>, hint: &str| of.get(hint) == Some(&Value::Bool(true));
    let turned = |hint, lost, gained| match (says(was, hint), says(is, hint)) {
        (true, false) => Some(DefinitionChange::of(lost)),
        (false, true) => Some(DefinitionChange::of(gained)),
        _ => None,
    };
    let [destructive, read_only] = ["destructiveHint", "readOnlyHint"];
    let turns = [
        turned(
            destructive,
            ChangeKind::NoLongerDestructive,
            ChangeKind::NowDestructive,
        ),
        turned(
            read_only,
            ChangeKind::NoLongerReadOnly,
            ChangeKind::NowReadOnly,
        ),
    ];
    let is_covered =
        |hint: &&str| [destructive, read_only].contains(hint) && says(was, hint) != says(is, hint);
    let others = differing(was, is).into_iter();
    let others = others.filter(|hint| !is_covered(hint));
    let others = DefinitionChange::about(ChangeKind::Annotations, others);
    turns.into_iter().flatten().chain(others).collect()
}

fn of_parameters(was: &Map<String, Value>, is: &Map<String, Value>) -> Vec<DefinitionChange> {
    if was == is {
        return Vec::new();
    }
    let none = Map::new();
    let [before, now] = [was, is].map(|of| member(of, "properties").unwrap_or(&none));
    let is_required = |of: &Map<String, Value>, name: &str| {
        let names = of.get("required").and_then(Value::as_array);
        names.is_some_and(|names| names.iter().any(|one| one.as_str() == Some(name)))
    };
    let added = now.keys().filter(|name| !before.contains_key(*name));
    let (mandatory, optional): (Vec<&str>, Vec<&str>) = added
        .map(String::as_str)
        .partition(|name| is_required(is, name));
    let both = now.keys().filter(|name| before.contains_key(*name));
    let both = both.map(String::as_str);
    let stricter = both
        .clone()
        .filter(|name| is_required(is, name) && !is_required(was, name));
    let changed = both.filter(|name| before.get(*name) != now.get(*name));
    let gone = before.keys().filter(|name| !now.contains_key(*name));
    let found = [
        DefinitionChange::about(ChangeKind::NewRequiredParameters, mandatory),
        DefinitionChange::about(ChangeKind::NewParameters, optional),
        DefinitionChange::about(ChangeKind::NowRequired, stricter),
        DefinitionChange::about(ChangeKind::RemovedParameters, gone.map(String::as_str)),
        DefinitionChange::about(ChangeKind::ChangedParameters, changed),
    ];
    let mut found: Vec<DefinitionChange> = found.into_iter().flatten().collect();
    let is_covered = |name: &str| name == "properties" || name == "required" && !found.is_empty();
    let mut differing = differing(was, is).into_iter();
    if differing.any(|name| !is_covered(name)) {
        found.push(DefinitionChange::of(ChangeKind::InputSchema));
    }
    found
}

impl DefinitionChange {
    fn of(kind: ChangeKind) -> Self {
        Self {
            kind,
            names: Vec::new(),
            characters: None,
        }
    }

    fn about<'a>(kind: ChangeKind, names: impl IntoIterator<Item = &'a str>) -> Option<Self> {
        let names = names.into_iter().take(NAMES);
        let names = names.map(|name| name.chars().take(LONGEST_NAME).collect());
        let names: Vec<String> = names.collect();
        (!names.is_empty()).then(|| Self {
            names,
            ..Self::of(kind)
        })
    }

    /// A change of a text. New is what lies between the common beginning and the common end.
    fn of_text(kind: ChangeKind, was: &str, is: &str) -> Self {
        let (begin, end) = common_ends(was, is);
        let new = is.get(begin..is.len() - end).unwrap_or_default();
        Self {
            characters: Some(new.chars().count()),
            ..Self::of(kind)
        }
    }

    fn sentence(&self) -> String {
        let parameters = if self.names.len() == 1 {
            "parameter"
        } else {
            "parameters"
        };
        let names = self.worded();
        match self.kind {
            ChangeKind::NoLongerDestructive => "No longer declares itself destructive.".to_owned(),
            ChangeKind::NowDestructive => "Now declares itself destructive.".to_owned(),
            ChangeKind::NoLongerReadOnly => "No longer declares that it only reads.".to_owned(),
            ChangeKind::NowReadOnly => "Now declares that it only reads.".to_owned(),
            ChangeKind::Annotations => format!("Changed annotations: {names}."),
            ChangeKind::NewRequiredParameters => format!("New required {parameters} {names}."),
            ChangeKind::NewParameters => format!("New {parameters} {names}."),
            ChangeKind::NowRequired => format!("Now required: {parameters} {names}."),
            ChangeKind::RemovedParameters => format!("Removed {parameters} {names}."),
            ChangeKind::ChangedParameters => format!("Changed {parameters} {names}."),
            ChangeKind::InputSchema => "Parts of its input schema changed.".to_owned(),
            ChangeKind::Description => format!("{} in its description.", self.new_characters()),
            ChangeKind::Instructions => format!("{} in the instructions.", self.new_characters()),
            ChangeKind::Members => format!("Changed: {names}."),
            ChangeKind::Other => "Only the whole definition shows what changed.".to_owned(),
        }
    }

    fn new_characters(&self) -> String {
        match self.characters {
            None | Some(0) => "Text removed, nothing new".to_owned(),
            Some(new) => count(new, "new character"),
        }
    }

    /// The names in backticks, without backticks of their own.
    fn worded(&self) -> String {
        let shown = self.names.iter();
        let shown = shown.map(|name| format!("`{}`", name.replace('`', "'")));
        some_of(&shown.collect::<Vec<_>>(), WORDED)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn worded(before: &str, now: &str) -> String {
        what_matters(before, now, &[]).sentence
    }

    #[test]
    fn annotations_come_first_then_parameters_then_text() {
        let before = r#"{"name":"a","description":"Reads notes.","annotations":{"destructiveHint":true},"inputSchema":{"properties":{"id":{},"old":{},"k":{"type":"string"}}}}"#;
        let now = r#"{"name":"a","description":"Reads all notes.","annotations":{"readOnlyHint":true},"inputSchema":{"properties":{"id":{},"token":{},"more":{},"k":{"type":"number"}},"required":["token","id"]}}"#;
        assert_eq!(
            worded(before, now),
            "No longer declares itself destructive. Now declares that it only reads. New required parameter `token`. \
             New parameter `more`. Now required: parameter `id`. Removed parameter `old`. Changed parameter `k`. \
             4 new characters in its description. No findings."
        );
        let kinds = what_matters(before, now, &[]).changes;
        let new = kinds
            .iter()
            .find(|one| one.kind == ChangeKind::NewParameters);
        assert_eq!(new.map(|one| &*one.names), Some(&["more".to_owned()][..]));
    }

    #[test]
    fn what_is_harmless_is_covered_as_clearly() {
        let tool = |more: &str| format!(r#"{{"name":"a"{more}}}"#);
        for (before, now, sentence) in [
            (
                "",
                r#","inputSchema":{"properties":{"region":{}}}"#,
                "New parameter `region`. Nothing else changed; no findings.",
            ),
            (
                r#","description":"Reads a note.""#,
                r#","description":"Reads.""#,
                "Text removed, nothing new in its description. Nothing else changed; no findings.",
            ),
            (
                r#","inputSchema":{"type":"object"}"#,
                r#","inputSchema":{"type":"object","minProperties":1}"#,
                "Parts of its input schema changed. Nothing else changed; no findings.",
            ),
            (
                r#","title":"A""#,
                r#","title":"B""#,
                "Changed: `title`. Nothing else changed; no findings.",
            ),
            (
                r#","title":"A""#,
                r#","title":"B","icons":[{"src":"x"}]"#,
                "Changed: `title`, `icons`. Nothing else changed; no findings.",
            ),
            (
                r#","_meta":{"a":1},"icons":[]"#,
                r#","icons":[{"src":"x"}]"#,
                "Changed: `icons`, `_meta`. Nothing else changed; no findings.",
            ),
            (
                "",
                "",
                "Only the whole definition shows what changed. No findings.",
            ),
        ] {
            assert_eq!(worded(&tool(before), &tool(now)), sentence);
        }
        assert_eq!(
            worded(r#""Be kind.""#, r#""Be very kind.""#),
            "5 new characters in the instructions. Nothing else changed; no findings."
        );
    }

    #[test]
    fn names_cannot_leave_their_marks_and_are_bounded() {
        let names: Vec<String> = (0..30).map(|n| format!("\"p{n}`x\":{{}}")).collect();
        let now = format!(
            r#"{{"inputSchema":{{"properties":{{{}}}}}}}"#,
            names.join(",")
        );
        let found = what_matters("{}", &now, &[]);
        assert!(
            found.sentence.starts_with("New parameters `p0'x`, "),
            "{}",
            found.sentence
        );
        assert_eq!(found.changes[0].names.len(), NAMES);
    }
}
