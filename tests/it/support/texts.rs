//! What a text or an object says and does not say, and tables as texts.

use std::borrow::Cow;

use serde_json::Value;

/// Fails unless the text, or the text of the JSON, has this part. Words about the circumstances may follow, as in `assert!`.
macro_rules! has {
    ($text:expr, $part:expr $(,)?) => { has!($text, $part, "") };
    ($text:expr, $part:expr, $($words:tt)+) => {
        $crate::support::texts::check(&$text, $part.as_ref(), true, &format!($($words)+))
    };
}

/// Fails if the text has this part.
macro_rules! lacks {
    ($text:expr, $part:expr $(,)?) => { lacks!($text, $part, "") };
    ($text:expr, $part:expr, $($words:tt)+) => {
        $crate::support::texts::check(&$text, $part.as_ref(), false, &format!($($words)+))
    };
}

/// Fails unless the JSON object has these members; others may be there, and null stands for one that is not.
macro_rules! is_like {
    ($value:expr, $members:tt $(,)?) => { is_like!($value, $members, "") };
    ($value:expr, $members:tt, $($words:tt)+) => {
        $crate::support::texts::check_members(&$value, &serde_json::json!($members), &format!($($words)+))
    };
}

pub(crate) use {has, is_like, lacks};

#[track_caller]
pub fn check_members(value: &Value, members: &Value, words: &str) {
    for (key, expected) in members.as_object().expect("members") {
        assert_eq!(value[key], *expected, "{words} {key} of {value}");
    }
}

#[track_caller]
pub fn check(text: impl Text, part: &str, is_there: bool, words: &str) {
    let text = text.text();
    let wrong = if is_there { "is not" } else { "is" };
    let found = text.contains(part);
    assert_eq!(found, is_there, "{words} {part:?} {wrong} in {text}");
}

pub trait Text {
    fn text(&self) -> Cow<'_, str>;
}

impl Text for str {
    fn text(&self) -> Cow<'_, str> {
        self.into()
    }
}

impl Text for String {
    fn text(&self) -> Cow<'_, str> {
        self.into()
    }
}

impl Text for Cow<'_, str> {
    fn text(&self) -> Cow<'_, str> {
        (&**self).into()
    }
}

/// A string is its own text; anything else is as it is written.
impl Text for Value {
    fn text(&self) -> Cow<'_, str> {
        self.as_str()
            .map_or_else(|| self.to_string().into(), Cow::from)
    }
}

impl<T: Text + ?Sized> Text for &T {
    fn text(&self) -> Cow<'_, str> {
        (**self).text()
    }
}

/// The rows of a table: a line each, the cells of which stand between ` | `.
pub fn rows<const N: usize>(table: &'static str) -> Vec<[&'static str; N]> {
    let lines = table.lines().map(str::trim).filter(|line| !line.is_empty());
    let cells = lines.map(|line| line.split(" | ").map(str::trim).collect::<Vec<_>>());
    cells
        .map(|cells| cells.try_into().unwrap_or_else(|row| panic!("{row:?}")))
        .collect()
}
