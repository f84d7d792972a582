//! Changes named members of an object and leaves every other byte as it is.

use bytes::Bytes;

use super::{Raw, scan::MemberSpan};

/// What to do with one member.
#[derive(Debug, Clone)]
pub enum Edit<'a> {
    /// Give it this value; append it if it is not there.
    Set(Raw),
    /// Remove it.
    Remove,
    /// Edit the object that it holds; any other value, or no member, counts as an empty object.
    Within(&'a [(&'a str, Edit<'a>)]),
}

/// Only objects have members.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a JSON object")]
pub struct NotAnObject;

/// Applies `edits` to the members of `object`. Whitespace, order, number text and escapes of everything else stay. Of a duplicate key
/// all but the first occurrence are removed, so that no reader can see another value than the one set.
pub fn splice(object: &Raw, edits: &[(&str, Edit<'_>)]) -> Result<Raw, NotAnObject> {
    if !object.is_object() {
        return Err(NotAnObject);
    }
    let text = object.as_bytes();
    let mut out = Output {
        bytes: Vec::with_capacity(text.len() + 64),
        has_member: false,
    };
    let mut done = vec![false; edits.len()];
    let mut copied_to = 0;
    for member in object.members() {
        let change = match edits.iter().position(|(key, _)| member.is(text, key)) {
            None => Change::Keep,
            Some(i) if std::mem::replace(&mut done[i], true) => Change::Remove,
            Some(i) => edited(object, &member, &edits[i].1),
        };
        let value = match &change {
            Change::Keep => &text[member.value.clone()],
            Change::Replace(value) => value.as_bytes(),
            Change::Remove => {
                copied_to = member.value.end;
                continue;
            }
        };
        out.separator(text, copied_to, member.key.start);
        out.bytes
            .extend_from_slice(&text[member.key.start..member.value.start]);
        out.bytes.extend_from_slice(value);
        copied_to = member.value.end;
    }
    for (_, (key, edit)) in done.iter().zip(edits).filter(|(done, _)| !**done) {
        out.append(key, edit);
    }
    if out.bytes.is_empty() {
        out.bytes.push(b'{');
    }
    out.bytes.extend_from_slice(&text[copied_to.max(1)..]);
    Ok(Raw::trusted(Bytes::from(out.bytes)))
}

/// What becomes of one member.
enum Change {
    Keep,
    Replace(Raw),
    Remove,
}

fn edited(object: &Raw, member: &MemberSpan, edit: &Edit<'_>) -> Change {
    match edit {
        Edit::Set(value) => Change::Replace(value.clone()),
        Edit::Remove => Change::Remove,
        Edit::Within(edits) => {
            let inner = Raw::trusted(object.bytes().slice(member.value.clone()));
            Change::Replace(
                splice(&inner, edits).unwrap_or_else(|NotAnObject| edited_empty_object(edits)),
            )
        }
    }
}

fn edited_empty_object(edits: &[(&str, Edit<'_>)]) -> Raw {
    splice(&Raw::empty_object(), edits).expect("an object was given")
}

struct Output {
    bytes: Vec<u8>,
    has_member: bool,
}

impl Output {
    /// Writes what was before a member: the opening brace or a comma, with the whitespace around it.
    fn separator(&mut self, text: &[u8], from: usize, to: usize) {
        if self.has_member {
            self.bytes.extend_from_slice(&text[from..to]);
        } else {
            // The first member that is kept: the comma before it is removed with the members before it.
            self.bytes.push(b'{');
            let blanks = text[from..to].iter().filter(|c| c.is_ascii_whitespace());
            self.bytes.extend(blanks);
        }
        self.has_member = true;
    }

    fn append(&mut self, key: &str, edit: &Edit<'_>) {
        let value = match edit {
            Edit::Set(value) => value.clone(),
            Edit::Remove => return,
            Edit::Within(edits) => {
                let made = edited_empty_object(edits);
                if made.members().next().is_none() {
                    return;
                }
                made
            }
        };
        self.bytes.push(if self.has_member { b',' } else { b'{' });
        self.has_member = true;
        serde_json::to_writer(&mut self.bytes, key).expect("writing a string to memory");
        self.bytes.push(b':');
        self.bytes.extend_from_slice(value.as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(text: &str) -> Raw {
        Raw::parse_str(text).expect("JSON")
    }

    #[track_caller]
    fn check(before: &str, edits: &[(&str, Edit<'_>)], after: &str) {
        let result = splice(&raw(before), edits).expect("an object");
        assert_eq!(result.as_str(), after);
        Raw::parse(result.bytes()).expect("still JSON");
    }

    #[test]
    fn only_the_named_member_changes() {
        check(
            r#"{ "b":1.10, "name" : "x" ,"z":12345678901234567890123}"#,
            &[("name", Edit::Set(raw("\"y\"")))],
            r#"{ "b":1.10, "name" : "y" ,"z":12345678901234567890123}"#,
        );
    }

    #[test]
    fn members_are_removed_and_added() {
        let (one, gone) = (|| Edit::Set(raw("1")), || Edit::Remove);
        check("{}", &[("a", one())], r#"{"a":1}"#);
        check("{ }", &[("a", one())], r#"{"a":1 }"#);
        check("{}", &[("a", gone())], "{}");
        check(r#"{"a":2}"#, &[("a", gone())], "{}");
        check(r#"{ "a":2 }"#, &[("a", gone())], "{ }");
        check(r#"{"a":2,"b":3}"#, &[("a", gone())], r#"{"b":3}"#);
        check(r#"{"a":2, "b":3}"#, &[("b", gone())], r#"{"a":2}"#);
        check(
            r#"{"a":2,"b":3,"c":4}"#,
            &[("b", gone()), ("d", one())],
            r#"{"a":2,"c":4,"d":1}"#,
        );
        check(
            r#"{"a":2,"b":3,"c":4}"#,
            &[("a", gone()), ("b", gone()), ("c", gone()), ("d", one())],
            r#"{"d":1}"#,
        );
    }

    #[test]
    fn inner_objects_are_edited_in_place() {
        let inner = [("t", Edit::Set(raw("\"p1\""))), ("gone", Edit::Remove)];
        check(
            r#"{"_meta":{"gone":1,"t":7,"k": [1e9]},"x":0}"#,
            &[("_meta", Edit::Within(&inner))],
            r#"{"_meta":{"t":"p1","k": [1e9]},"x":0}"#,
        );
        check(
            r#"{"x":0}"#,
            &[("_meta", Edit::Within(&inner))],
            r#"{"x":0,"_meta":{"t":"p1"}}"#,
        );
        check(
            r#"{"_meta":null}"#,
            &[("_meta", Edit::Within(&inner))],
            r#"{"_meta":{"t":"p1"}}"#,
        );
        check(
            r#"{"x":0}"#,
            &[("_meta", Edit::Within(&[("gone", Edit::Remove)]))],
            r#"{"x":0}"#,
        );
    }

    #[test]
    fn a_duplicate_key_is_set_once() {
        check(
            r#"{"name":"a","n\u0061me":"b","x":1,"name":"c"}"#,
            &[("name", Edit::Set(raw("\"d\"")))],
            r#"{"name":"d","x":1}"#,
        );
    }

    #[test]
    fn only_objects_can_be_spliced() {
        assert_eq!(splice(&raw("[1]"), &[]), Err(NotAnObject));
    }
}
