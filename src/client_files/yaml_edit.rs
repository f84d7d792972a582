//! Changes to a YAML file, line by line: no parser keeps comments, so whole lines are put in or taken out, and the result is held against
//! what it should say. What is laid out in another way than the file's program does it is refused.

use saphyr_parser::{Event, Parser};
use serde_json::{Map, Value};

use super::{fault::FileFault, yaml, yaml_scalars};

/// The text with an entry under a key of the top.
pub(super) fn put(
    text: &str,
    list: &str,
    name: &str,
    entry: &Map<String, Value>,
) -> Result<String, FileFault> {
    let before = root_of(text)?;
    let layout = Layout::of(text, list)?;
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let block = |indent: usize| {
        let mut block = Vec::new();
        write_member(&mut block, indent, name, &Value::Object(entry.clone()));
        block
    };
    match &layout.list {
        None => {
            lines.push(format!("{}{list}:", " ".repeat(layout.indent)));
            lines.extend(block(layout.indent + 2));
        }
        Some(Member { children, line, .. }) if children.is_empty() => {
            let at = *line;
            if let Some(key) = lines.get_mut(at - 1) {
                let opened = key.replacen("{}", "", 1);
                key.clear();
                key.push_str(opened.trim_end());
            }
            lines.splice(at..at, block(layout.indent + 2));
        }
        Some(Member {
            children,
            last_line,
            ..
        }) => {
            let indent = children.first().map_or(2, |child| child.indent);
            let range = match children.iter().find(|child| child.key == name) {
                Some(child) => child.line - 1..child.last_line,
                None => *last_line..*last_line,
            };
            lines.splice(range, block(indent));
        }
    }
    let mut expected = before;
    let inside = expected.entry(list).or_insert(Value::Null);
    if inside.is_null() {
        *inside = Value::Object(Map::new());
    }
    if let Value::Object(inside) = inside {
        inside.insert(name.to_owned(), Value::Object(entry.clone()));
    }
    checked(joined(&lines, text), &expected)
}

/// The text without an entry.
pub(super) fn take_out(text: &str, list: &str, name: &str) -> Result<String, FileFault> {
    let mut expected = root_of(text)?;
    let layout = Layout::of(text, list)?;
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let Some(Member { children, line, .. }) = &layout.list else {
        return Ok(text.to_owned());
    };
    let Some(child) = children.iter().find(|child| child.key == name) else {
        return Ok(text.to_owned());
    };
    lines.drain(child.line - 1..child.last_line.min(lines.len()));
    if children.len() == 1
        && let Some(key) = lines.get_mut(line - 1)
    {
        key.push_str(" {}");
    }
    if let Some(Value::Object(inside)) = expected.get_mut(list) {
        inside.shift_remove(name);
    }
    checked(joined(&lines, text), &expected)
}

fn root_of(text: &str) -> Result<Map<String, Value>, FileFault> {
    match yaml::read(text)? {
        Value::Null => Ok(Map::new()),
        Value::Object(root) => Ok(root),
        _ => Err(FileFault::new("it holds no map of keys")),
    }
}

fn joined(lines: &[String], before: &str) -> String {
    let newline = if before.contains("\r\n") {
        "\r\n"
    } else {
        "\n"
    };
    let mut text = lines.join(newline);
    text.push_str(newline);
    text
}

fn checked(text: String, expected: &Map<String, Value>) -> Result<String, FileFault> {
    let found = yaml::read(&text).ok();
    if found.as_ref().and_then(Value::as_object) == Some(expected) {
        return Ok(text);
    }
    Err(FileFault::new(NOT_SAFE))
}

const NOT_SAFE: &str = "it is laid out in a way that is not changed by a program";

/// Where the list stands.
struct Layout {
    /// Of the keys at the top.
    indent: usize,
    list: Option<Member>,
}

/// A key, its place, and the keys below it where those stand on lines of their own.
struct Member {
    key: String,
    indent: usize,
    /// Counted from 1.
    line: usize,
    /// Of its value.
    last_line: usize,
    children: Vec<Member>,
}

/// What is open while the events are read.
struct Frame {
    is_map: bool,
    is_flow: bool,
    expects_key: bool,
}

impl Layout {
    fn of(text: &str, list: &str) -> Result<Self, FileFault> {
        let lines: Vec<&str> = text.lines().collect();
        let mut open: Vec<Frame> = Vec::new();
        let mut top: Vec<Member> = Vec::new();
        // Where braces or brackets stand in place of lines with their keys.
        let mut in_one_line = None;
        for event in Parser::new_from_str(text) {
            let (event, span) = event
                .map_err(|error| FileFault::at(error.marker().line(), error.info().to_owned()))?;
            let (line, indent) = (span.start.line(), span.start.col());
            let begins_with = |c: char| {
                lines
                    .get(line.wrapping_sub(1))
                    .and_then(|line| line.chars().nth(indent))
                    == Some(c)
            };
            let mut last_line = match span.end.col() {
                0 => span.end.line().saturating_sub(1),
                _ => span.end.line(),
            };
            // Blank lines between two values belong to neither.
            let is_blank = |line: usize| {
                lines
                    .get(line.wrapping_sub(1))
                    .is_some_and(|line| line.trim().is_empty())
            };
            while last_line > line && is_blank(last_line) {
                last_line -= 1;
            }
            let is_key = open
                .last()
                .is_some_and(|frame| frame.is_map && frame.expects_key);
            match event {
                Event::DocumentEnd | Event::StreamEnd => break,
                Event::Scalar(ref key, ..) if is_key && open.len() <= 2 => {
                    let member = Member {
                        key: key.to_string(),
                        indent,
                        line,
                        last_line,
                        children: Vec::new(),
                    };
                    if open.len() == 1 {
                        top.push(member);
                    } else if let Some(parent) = top.last_mut().filter(|parent| parent.key == list)
                    {
                        if open.last().is_none_or(|frame| frame.is_flow) {
                            in_one_line.get_or_insert(line);
                        }
                        parent.children.push(member);
                    }
                }
                _ => (),
            }
            let reaches = match &event {
                // An empty value has no place of its own.
                Event::Scalar(text, ..) => {
                    !text.is_empty() || span.end.index() > span.start.index()
                }
                Event::Alias(_) => true,
                Event::SequenceEnd | Event::MappingEnd => {
                    open.last().is_some_and(|frame| frame.is_flow)
                }
                _ => false,
            };
            if reaches {
                reach(&mut top, open.len(), last_line.max(line));
            }
            match event {
                Event::MappingStart(..) | Event::SequenceStart(..) => {
                    toggle(&mut open);
                    let is_map = matches!(event, Event::MappingStart(..));
                    let is_flow = begins_with(if is_map { '{' } else { '[' });
                    if open.is_empty() && (is_flow || !is_map) {
                        in_one_line.get_or_insert(line);
                    }
                    open.push(Frame {
                        is_map,
                        is_flow,
                        expects_key: is_map,
                    });
                }
                Event::MappingEnd | Event::SequenceEnd => drop(open.pop()),
                Event::Scalar(..) | Event::Alias(_) => toggle(&mut open),
                _ => (),
            }
        }
        if let Some(line) = in_one_line {
            let why = format!(
                "`{list}` cannot be changed by a program here: its keys stand in braces or brackets, and not on lines of their own"
            );
            return Err(FileFault::at(line, why));
        }
        Ok(Self {
            indent: top.first().map_or(0, |member| member.indent),
            list: top.into_iter().find(|member| member.key == list),
        })
    }
}

/// A key was read, or a value.
fn toggle(open: &mut [Frame]) {
    if let Some(frame) = open.last_mut().filter(|frame| frame.is_map) {
        frame.expects_key = !frame.expects_key;
    }
}

/// The value that is being read goes on to this line.
fn reach(top: &mut [Member], depth: usize, line: usize) {
    let Some(member) = top.last_mut().filter(|_| depth > 0) else {
        return;
    };
    member.last_line = member.last_line.max(line);
    if depth > 1
        && let Some(child) = member.children.last_mut()
    {
        child.last_line = child.last_line.max(line);
    }
}

fn write_member(lines: &mut Vec<String>, indent: usize, key: &str, value: &Value) {
    let blanks = " ".repeat(indent);
    let key = scalar(&Value::from(key));
    match value {
        Value::Object(members) if !members.is_empty() => {
            lines.push(format!("{blanks}{key}:"));
            for (key, value) in members {
                write_member(lines, indent + 2, key, value);
            }
        }
        value => lines.push(format!("{blanks}{key}: {}", scalar(value))),
    }
}

/// A value on one line. JSON is YAML, too; a word that means itself needs no quotes.
fn scalar(value: &Value) -> String {
    match value {
        Value::String(text) => {
            let is_word = text.starts_with(|c: char| c.is_ascii_alphabetic())
                && text
                    .chars()
                    .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'));
            if is_word && yaml_scalars::plain(text).is_string() {
                text.clone()
            } else {
                value.to_string()
            }
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, Value, json};

    use super::{put, take_out};

    fn entry() -> Map<String, Value> {
        let entry = json!({ "enabled": true, "uri": "http://h/mcp", "headers": { "A": "b c" } });
        entry.as_object().expect("an entry").clone()
    }

    const BLOCK: &str =
        "  us:\n    enabled: true\n    uri: \"http://h/mcp\"\n    headers:\n      A: \"b c\"\n";

    #[track_caller]
    fn check(before: &str, expected: &str) {
        let with = put(before, "extensions", "us", &entry()).expect("it can be put in");
        assert_eq!(with, expected);
        let again = put(&with, "extensions", "us", &entry()).expect("it can be put in");
        assert_eq!(again, with);
    }

    #[test]
    fn an_entry_is_put_in_where_the_others_are() {
        check("", &format!("extensions:\n{BLOCK}"));
        check("# c\nA: b", &format!("# c\nA: b\nextensions:\n{BLOCK}"));
        check(
            "extensions:\nA: b\n",
            &format!("extensions:\n{BLOCK}A: b\n"),
        );
        check(
            "extensions: {}\nA: b\n",
            &format!("extensions:\n{BLOCK}A: b\n"),
        );
        check(
            "extensions:\n  one: # c\n    args: [a,\n      b]\n    text: |\n      x\n\n# end\nA: b\n",
            &format!(
                "extensions:\n  one: # c\n    args: [a,\n      b]\n    text: |\n      x\n{BLOCK}\n# end\nA: b\n"
            ),
        );
        check(
            "extensions:\n  us:\n    enabled: false\n  two:\n    a: ''\n",
            &format!("extensions:\n{BLOCK}  two:\n    a: ''\n"),
        );
    }

    #[test]
    fn an_entry_is_taken_out_again() {
        for before in [
            "extensions:\n  one: # c\n    a: b\n# end\nA: b\n",
            "A: b\nextensions:\n  one:\n    envs: {}\n    list:\n    - x\n",
        ] {
            let with = put(before, "extensions", "us", &entry()).expect("it can be put in");
            assert_eq!(take_out(&with, "extensions", "us").as_deref(), Ok(before));
        }
        let alone =
            put("extensions: {}\n", "extensions", "us", &entry()).expect("it can be put in");
        assert_eq!(
            take_out(&alone, "extensions", "us").as_deref(),
            Ok("extensions: {}\n")
        );
        assert_eq!(
            take_out("A: b\n", "extensions", "us").as_deref(),
            Ok("A: b\n")
        );
    }

    #[test]
    fn what_is_laid_out_otherwise_is_refused() {
        for text in [
            "{extensions: {a: {b: 1}}}\n",
            "extensions: {a: {b: 1}}\n",
            "extensions: [a]\n",
            "- a\n",
            "extensions: ~\n",
            "A: b\n---\nC: d\n",
        ] {
            assert!(put(text, "extensions", "us", &entry()).is_err(), "{text}");
        }
    }
}
