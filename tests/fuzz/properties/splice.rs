//! Splicing: what the edits say, and not a byte else.
//!
//! An input is a script of edits on its first line and an object after it. `s2b` sets the third name to value `b`, `r0` removes
//! the first, `w1(s0a r3)` edits inside the second; names are those of the object, and a few more. Other letters mean nothing.

use bytes::Bytes;
use mcpproxy::wire::{Edit, NotAnObject, Raw, splice};

use super::json::{self, Member};

/// Names that the object may not have.
const FURTHER_NAMES: [&str; 4] = ["name", "_meta", "progressToken", "a \"new\"\n\u{e9}"];

/// What is set.
const VALUES: [&str; 5] = ["1.10", "\"x\\u0041\"", "null", "{\"a\": 1}", "[ ]"];

/// A script and a text.
pub fn check(input: &[u8]) {
    let line_end = input.iter().position(|byte| *byte == b'\n');
    let (script, text) = input.split_at(line_end.unwrap_or(0));
    let Ok(object) = Raw::parse(&Bytes::copy_from_slice(text)) else {
        return;
    };
    let Some(members) = json::members(object.as_bytes()) else {
        assert_eq!(splice(&object, &[]), Err(NotAnObject));
        return;
    };
    let script = read_script(script, &names_in(&members));
    let inner: Vec<_> = script.iter().map(|(_, step)| step.inner_edits()).collect();
    let edits: Vec<_> = script
        .iter()
        .zip(&inner)
        .map(|((name, step), inner)| (name.as_str(), step.edit(inner)))
        .collect();

    let edited = splice(&object, &edits).expect("an object");
    Raw::parse(edited.bytes()).expect("what was JSON stays JSON");
    let again = splice(&edited, &edits).expect("an object");
    assert_eq!(again.as_str(), edited.as_str(), "once is enough");

    let found = json::members(edited.as_bytes()).expect("an object stays one");
    let expected = members_after(&members, &script);
    assert_eq!(found.len(), expected.len(), "{}", edited.as_str());
    for (found, (name, value)) in found.iter().zip(&expected) {
        assert_eq!(name_of(found), *name, "{}", edited.as_str());
        value.check(found.value);
    }
    if let Some(expected) = text_after(object.as_str(), &members, &script) {
        assert_eq!(edited.as_str(), expected);
    }
}

/// One edit of the outer object.
enum Step {
    Set(&'static str),
    Remove,
    /// Sets and removes inside.
    Within(Vec<(String, Option<&'static str>)>),
}

impl Step {
    fn inner_edits(&self) -> Vec<(&str, Edit<'static>)> {
        let Self::Within(inner) = self else {
            return Vec::new();
        };
        inner
            .iter()
            .map(|(name, value)| (name.as_str(), value.map_or(Edit::Remove, set)))
            .collect()
    }

    fn edit<'a>(&self, inner: &'a [(&'a str, Edit<'a>)]) -> Edit<'a> {
        match self {
            Self::Set(value) => set(value),
            Self::Remove => Edit::Remove,
            Self::Within(_) => Edit::Within(inner),
        }
    }
}

fn set(value: &str) -> Edit<'static> {
    Edit::Set(Raw::parse_str(value).expect("a constant is JSON"))
}

/// The names of an object and of the objects in it, and then some.
fn names_in(members: &[Member<'_>]) -> Vec<String> {
    let inner = members
        .iter()
        .flat_map(|member| json::members(member.value.as_bytes()).unwrap_or_default());
    members
        .iter()
        .copied()
        .chain(inner)
        .filter_map(|member| member.name())
        .chain(FURTHER_NAMES.map(str::to_owned))
        .collect()
}

/// Every name has one edit at most on each level.
fn read_script(text: &[u8], names: &[String]) -> Vec<(String, Step)> {
    let mut text = text.iter().copied();
    let mut script: Vec<(String, Step)> = Vec::new();
    while let Some(letter) = text.next() {
        if !matches!(letter, b's' | b'r' | b'w') {
            continue;
        }
        let name = pick(names, text.next(), b'0');
        let step = match letter {
            b's' => Step::Set(pick(&VALUES, text.next(), b'a')),
            b'r' => Step::Remove,
            _ => Step::Within(read_inner(&mut text, names)),
        };
        if script.iter().all(|(known, _)| *known != name) {
            script.push((name, step));
        }
    }
    script
}

fn read_inner(
    text: &mut impl Iterator<Item = u8>,
    names: &[String],
) -> Vec<(String, Option<&'static str>)> {
    let mut inner: Vec<(String, Option<&'static str>)> = Vec::new();
    while let Some(letter) = text.next().filter(|letter| *letter != b')') {
        if !matches!(letter, b's' | b'r') {
            continue;
        }
        let name = pick(names, text.next(), b'0');
        let value = (letter == b's').then(|| pick(&VALUES, text.next(), b'a'));
        if inner.iter().all(|(known, _)| *known != name) {
            inner.push((name, value));
        }
    }
    inner
}

/// The element that a letter stands for, counted from `first`.
fn pick<T: Clone>(list: &[T], letter: Option<u8>, first: u8) -> T {
    let index = letter.unwrap_or(first).wrapping_sub(first);
    list[usize::from(index) % list.len()].clone()
}

/// What a member's value has to be.
enum Expected {
    Text(String),
    Object(Vec<(String, String)>),
}

impl Expected {
    #[track_caller]
    fn check(&self, found: &str) {
        match self {
            Self::Text(text) => assert_eq!(found, text),
            Self::Object(expected) => {
                let found = json::members(found.as_bytes()).expect("an object");
                let found: Vec<_> = found
                    .iter()
                    .map(|member| (name_of(member), member.value.to_owned()))
                    .collect();
                assert_eq!(found, *expected);
            }
        }
    }
}

/// The name, or the key as written where it holds half a character.
fn name_of(member: &Member<'_>) -> String {
    member.name().unwrap_or_else(|| member.key.to_owned())
}

/// The edits made to a list of members instead of a text.
fn members_after(members: &[Member<'_>], script: &[(String, Step)]) -> Vec<(String, Expected)> {
    let mut done = vec![false; script.len()];
    let mut after = Vec::new();
    for member in members {
        let name = name_of(member);
        let edit = script.iter().position(|(known, _)| *known == name);
        let Some(index) = edit.filter(|_| member.name().is_some()) else {
            after.push((name, Expected::Text(member.value.to_owned())));
            continue;
        };
        if std::mem::replace(&mut done[index], true) {
            continue;
        }
        let value = match &script[index].1 {
            Step::Remove => continue,
            Step::Set(value) => Expected::Text((*value).to_owned()),
            Step::Within(inner) => {
                let members = json::members(member.value.as_bytes()).unwrap_or_default();
                Expected::Object(inner_after(&members, inner))
            }
        };
        after.push((name, value));
    }
    for ((name, step), _) in script.iter().zip(done).filter(|(_, done)| !done) {
        match step {
            Step::Set(value) => after.push((name.clone(), Expected::Text((*value).to_owned()))),
            Step::Within(inner) if inner.iter().any(|(_, value)| value.is_some()) => {
                after.push((name.clone(), Expected::Object(inner_after(&[], inner))));
            }
            Step::Within(_) | Step::Remove => (),
        }
    }
    after
}

fn inner_after(
    members: &[Member<'_>],
    inner: &[(String, Option<&'static str>)],
) -> Vec<(String, String)> {
    let flat: Vec<(String, Step)> = inner
        .iter()
        .map(|(name, value)| (name.clone(), value.map_or(Step::Remove, Step::Set)))
        .collect();
    let text = |(name, value)| match value {
        Expected::Text(text) => (name, text),
        Expected::Object(_) => unreachable!("nothing is edited inside here"),
    };
    members_after(members, &flat)
        .into_iter()
        .map(text)
        .collect()
}

/// The whole text, where the script only sets and no name stands there twice: values change in place, new ones come last.
fn text_after(text: &str, members: &[Member<'_>], script: &[(String, Step)]) -> Option<String> {
    let mut settings = Vec::new();
    for (name, step) in script {
        let is_there = |member: &&Member<'_>| member.name().as_ref() == Some(name);
        match step {
            Step::Set(value) if members.iter().filter(is_there).count() < 2 => {
                settings.push((name, *value));
            }
            _ => return None,
        }
    }
    let (mut out, mut rest) = (String::new(), text);
    for member in members {
        let start = member.value.as_ptr() as usize - rest.as_ptr() as usize;
        let (before, from_value) = rest.split_at(start);
        let name = member.name();
        let set = settings
            .iter()
            .position(|(known, _)| Some(*known) == name.as_ref());
        out.push_str(before);
        out.push_str(set.map_or(member.value, |index| settings.remove(index).1));
        rest = from_value.split_at(member.value.len()).1;
    }
    for (index, (name, value)) in settings.into_iter().enumerate() {
        if members.is_empty() && index == 0 {
            out.push('{');
            rest = rest.split_at(1).1;
        } else {
            out.push(',');
        }
        out.push_str(&serde_json::Value::from(name.as_str()).to_string());
        out.push(':');
        out.push_str(value);
    }
    out.push_str(rest);
    Some(out)
}
