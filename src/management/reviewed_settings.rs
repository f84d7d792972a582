//! What a reviewer sees of variables and headers: those that a person wrote are masked, as in every listing; those that an agent wrote or
//! changed are there to be judged, but for credentials. What is masked at one place is masked at every other, unless it has to be judged.

use std::{collections::BTreeSet, fs};

use serde_json::{Map, Value};

use super::{
    Backing, Management, entry_review::EntryReview, loader_variables::changes_what_is_loaded,
    pointing_values::says_where,
};
use crate::{
    config::{hidden_setting, written_entry},
    text::secret::{MASK, Secrets},
};

/// The keys of an entry whose members these are.
const SETTINGS: [&str; 2] = ["env", "headers"];

/// Who wrote what stands in an entry.
enum Authors {
    /// A person, all of it.
    Person,
    /// An agent, all of it, or what of it is not known.
    Agent,
    /// An agent what stands at these places, a person the rest.
    Both(BTreeSet<String>),
}

impl<B: Backing> Management<B> {
    /// Masks in an entry, and in what agents changed of it, what a reviewer need not see. Blocks.
    pub(super) fn mask_settings(
        &self,
        name: &str,
        entry: &mut Option<Value>,
        review: &mut Option<EntryReview>,
    ) {
        let text = fs::read_to_string(self.config_file()).ok();
        let written = text.and_then(|text| written_entry(&text, name).ok());
        if let (Some(Value::Object(shown)), Some(written)) = (entry, written) {
            mask(shown, &written, review.as_mut());
        }
    }
}

fn mask(
    shown: &mut Map<String, Value>,
    written: &Map<String, Value>,
    review: Option<&mut EntryReview>,
) {
    let authors = Authors::of(written, review.as_deref());
    let hidden = Hidden::of(shown, written);
    for setting in settings(written) {
        let Some(value) = setting.shown_in(shown) else {
            continue;
        };
        if authors.is_agents(&setting.place()) {
            if let Value::String(text) = value
                && !is_to_be_judged(setting.key, setting.name, text)
            {
                *text = hidden.masked(text);
            }
        } else {
            *value = hidden_setting(setting.value).into();
        }
    }
    if matches!(authors, Authors::Person) {
        let others = shown.iter_mut();
        others.for_each(|(_, value)| hidden.mask_all(value));
    }
    let changes = review.into_iter().flat_map(|review| &mut review.changes);
    for change in changes {
        let Some((key, name)) = change.place.split_once('.') else {
            continue;
        };
        let texts = change.was.iter_mut().chain(&mut change.is);
        for text in texts.filter(|_| SETTINGS.contains(&key)) {
            if !is_to_be_judged(key, name, text) {
                *text = hidden.masked(text);
            }
        }
    }
}

/// Whether a setting may make the server load, run or reach something else: then a reviewer has to see it, whatever else says the same.
fn is_to_be_judged(key: &str, name: &str, text: &str) -> bool {
    says_where(text) || key == "env" && changes_what_is_loaded(name)
}

impl Authors {
    fn of(written: &Map<String, Value>, review: Option<&EntryReview>) -> Self {
        let is_held = written.get("quarantined") == Some(&Value::Bool(true));
        let is_agents = written.get("changed_by").and_then(Value::as_str) == Some("agent");
        match review {
            Some(review) if review.is_new => Self::Agent,
            Some(review) => {
                let changes = review.changes.iter();
                Self::Both(changes.map(|change| change.place.clone()).collect())
            }
            None if is_held && is_agents => Self::Agent,
            None => Self::Person,
        }
    }

    fn is_agents(&self, place: &str) -> bool {
        match self {
            Self::Person => false,
            Self::Agent => true,
            Self::Both(places) => places.contains(place),
        }
    }
}

/// A variable or a header as it is written.
struct Setting<'a> {
    key: &'static str,
    name: &'a str,
    value: &'a Value,
}

fn settings(entry: &Map<String, Value>) -> impl Iterator<Item = Setting<'_>> {
    SETTINGS.into_iter().flat_map(move |key| {
        let members = entry.get(key).and_then(Value::as_object);
        let members = members.into_iter().flatten();
        members.map(move |(name, value)| Setting { key, name, value })
    })
}

impl Setting<'_> {
    fn place(&self) -> String {
        format!("{}.{}", self.key, self.name)
    }

    fn shown_in<'s>(&self, shown: &'s mut Map<String, Value>) -> Option<&'s mut Value> {
        shown.get_mut(self.key)?.get_mut(self.name)
    }
}

/// Texts that are taken for credentials at some place of an entry.
struct Hidden {
    whole: BTreeSet<String>,
    /// The same inside of longer texts.
    parts: Secrets,
}

impl Hidden {
    fn of(shown: &mut Map<String, Value>, written: &Map<String, Value>) -> Self {
        let mut whole = BTreeSet::new();
        for setting in settings(written) {
            let Some(text) = setting.value.as_str() else {
                continue;
            };
            let shown = setting.shown_in(shown).and_then(|shown| shown.as_str());
            // What is made of references has no text of its own to hide.
            if shown.is_some_and(|shown| shown.contains(MASK)) && !text.contains("${") {
                let bare = text.rsplit(' ').next().unwrap_or(text);
                whole.extend([text, bare].map(str::to_owned));
            }
        }
        let parts = Secrets::new(whole.iter().cloned());
        Self { whole, parts }
    }

    fn masked(&self, text: &str) -> String {
        if self.whole.contains(text) {
            return MASK.to_owned();
        }
        self.parts.masked(text).into_owned()
    }

    fn mask_all(&self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.masked(text),
            Value::Array(elements) => elements.iter_mut().for_each(|one| self.mask_all(one)),
            Value::Object(members) => members.values_mut().for_each(|one| self.mask_all(one)),
            _ => (),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{
        config::{OpenTexts, entry_for_review},
        management::EntryChange,
    };

    #[track_caller]
    fn check(entry: &Value, review: Option<(bool, &[&str])>, expected: &Value) {
        let text = json!({ "mcpServers": { "s": entry } }).to_string();
        let shown = entry_for_review(&text, "s", &OpenTexts::default());
        let Some(Value::Object(mut shown)) = shown else {
            panic!("no entry");
        };
        let mut review = review.map(|(is_new, places)| EntryReview {
            held_for: Vec::new(),
            is_new,
            changes: places.iter().map(|place| change(place, &shown)).collect(),
        });
        let written = entry.as_object().expect("an object");
        mask(&mut shown, written, review.as_mut());
        for (key, value) in expected.as_object().expect("an object") {
            assert_eq!(&shown[key], value, "{key}");
        }
        for change in review.into_iter().flat_map(|review| review.changes) {
            let (key, name) = change.place.split_once('.').expect("a setting");
            assert_eq!(change.is.as_deref(), shown[key][name].as_str());
        }
    }

    fn change(place: &str, shown: &Map<String, Value>) -> EntryChange {
        let (key, name) = place.split_once('.').expect("a setting");
        EntryChange {
            place: place.to_owned(),
            was: None,
            is: shown[key][name].as_str().map(str::to_owned),
            holds: true,
        }
    }

    #[test]
    fn what_a_person_wrote_is_masked_as_in_listings() {
        let entry = json!({
            "command": "npx",
            "args": ["--with", "x-LITERAL66", "LIT66"],
            "env": { "MYKEY": "LITENVSECRET44", "LOG": "info", "N": 7, "R": "${HOME_KEY}", "A_TOKEN": "LIT66", "B_TOKEN": "LITERAL66" },
            "quarantined": true,
        });
        let expected = json!({
            "command": "npx",
            "args": ["--with", "x-***", "***"],
            "env": { "MYKEY": "***", "LOG": "***", "N": "***", "R": "${HOME_KEY}", "A_TOKEN": "***", "B_TOKEN": "***" },
        });
        check(&entry, None, &expected);
        let remote = json!({ "url": "https://x.example/mcp", "headers": { "X-Team": "mine", "Authorization": "Bearer ${T}" } });
        let expected = json!({ "url": "https://x.example/mcp", "headers": { "X-Team": "***", "Authorization": "Bearer ${T}" } });
        check(&remote, None, &expected);
    }

    #[test]
    fn what_an_agent_wrote_is_shown_but_for_credentials() {
        let entry = json!({
            "command": "npx",
            "args": ["LIT66"],
            "env": { "A": "LIT66", "B_TOKEN": "LIT66", "C": "LIT667", "LOG": "debug", "URL": "https://evil.example", "D_KEY": "https://evil.example" },
            "quarantined": true, "changed_by": "agent",
        });
        let expected = json!({
            "args": ["LIT66"],
            "env": { "A": "***", "B_TOKEN": "***", "C": "LIT667", "LOG": "debug", "URL": "https://evil.example", "D_KEY": "***" },
        });
        for review in [None, Some((true, &[][..]))] {
            check(&entry, review, &expected);
        }
    }

    #[test]
    fn nothing_that_has_to_be_judged_hides_behind_a_name() {
        let entry = json!({
            "command": "node",
            "env": { "NODE_OPTIONS": "--require /tmp/e.js", "A_TOKEN": "--require /tmp/e.js", "NODE_ENV": "loader", "B_TOKEN": "loader" },
            "quarantined": true, "changed_by": "agent",
        });
        let shown = json!({ "env": { "NODE_OPTIONS": "--require /tmp/e.js", "A_TOKEN": "***", "NODE_ENV": "loader", "B_TOKEN": "***" } });
        check(&entry, None, &shown);
    }

    #[test]
    fn of_an_entry_of_both_what_the_agent_changed_is_shown() {
        let entry = json!({
            "command": "npx",
            "env": { "MINE": "LITENVSECRET44", "THEIRS": "word", "X_TOKEN": "LIT66", "Y": "LIT66" },
            "quarantined": true, "changed_by": "agent",
        });
        let expected =
            json!({ "env": { "MINE": "***", "THEIRS": "word", "X_TOKEN": "***", "Y": "***" } });
        check(
            &entry,
            Some((false, &["env.THEIRS", "env.Y"][..])),
            &expected,
        );
    }
}
