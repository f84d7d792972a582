//! YAML as JSON values, within bounds: anchors are followed, but a file that grows by them is refused.

use std::collections::HashMap;

use saphyr_parser::{Event, Parser, ScalarStyle};
use serde_json::{Map, Value};

use super::{fault::FileFault, yaml_scalars};

/// Limit: values in one file, those that anchors repeat counted each time.
const MOST_VALUES: usize = 200_000;

/// Limit: what is deeper is no configuration.
const DEEPEST: usize = 64;

/// The first document of the text as a value.
pub(super) fn read(text: &str) -> Result<Value, FileFault> {
    let mut builder = Builder::default();
    for event in Parser::new_from_str(text) {
        let (event, span) =
            event.map_err(|error| FileFault::at(error.marker().line(), error.info().to_owned()))?;
        if matches!(event, Event::DocumentEnd | Event::StreamEnd) {
            break;
        }
        let taken = builder.take(event);
        taken.map_err(|problem| FileFault::at(span.start.line(), problem))?;
    }
    Ok(builder.root.unwrap_or(Value::Null))
}

#[derive(Default)]
struct Builder {
    open: Vec<Open>,
    anchors: HashMap<usize, (Value, usize)>,
    n_values: usize,
    root: Option<Value>,
}

/// A list or a map of which more comes.
struct Open {
    anchor: usize,
    held: Held,
    n_before: usize,
}

enum Held {
    List(Vec<Value>),
    Map(Map<String, Value>, Option<String>),
}

impl Builder {
    fn take(&mut self, event: Event<'_>) -> Result<(), &'static str> {
        match event {
            Event::SequenceStart(anchor, _) => self.begin(anchor, Held::List(Vec::new())),
            Event::MappingStart(anchor, _) => self.begin(anchor, Held::Map(Map::new(), None)),
            Event::SequenceEnd | Event::MappingEnd => self.end(),
            Event::Scalar(text, style, anchor, tag) => {
                let is_text = tag.is_some_and(|tag| tag.suffix == "str");
                let value = match style {
                    ScalarStyle::Plain if !is_text => yaml_scalars::plain(&text),
                    _ => Value::from(&*text),
                };
                self.count(1)?;
                if anchor > 0 {
                    self.anchors.insert(anchor, (value.clone(), 1));
                }
                self.put(value)
            }
            Event::Alias(anchor) => {
                let known = self.anchors.get(&anchor).cloned();
                let (value, n) = known.ok_or("it refers to an anchor that is not there before")?;
                self.count(n)?;
                self.put(value)
            }
            _ => Ok(()),
        }
    }

    fn count(&mut self, n: usize) -> Result<(), &'static str> {
        self.n_values += n;
        if self.n_values > MOST_VALUES {
            return Err("it holds too many values");
        }
        Ok(())
    }

    fn begin(&mut self, anchor: usize, held: Held) -> Result<(), &'static str> {
        self.count(1)?;
        if self.open.len() >= DEEPEST {
            return Err("it is nested too deeply");
        }
        self.open.push(Open {
            anchor,
            held,
            n_before: self.n_values,
        });
        Ok(())
    }

    fn end(&mut self) -> Result<(), &'static str> {
        let Some(Open {
            anchor,
            held,
            n_before,
        }) = self.open.pop()
        else {
            return Ok(());
        };
        let value = match held {
            Held::List(list) => Value::Array(list),
            Held::Map(map, _) => Value::Object(map),
        };
        if anchor > 0 {
            let n = 1 + self.n_values - n_before;
            self.anchors.insert(anchor, (value.clone(), n));
        }
        self.put(value)
    }

    fn put(&mut self, value: Value) -> Result<(), &'static str> {
        match self.open.last_mut().map(|open| &mut open.held) {
            None => self.root = Some(value),
            Some(Held::List(list)) => list.push(value),
            Some(Held::Map(map, key)) => match key.take() {
                None => *key = Some(yaml_scalars::key(value)?),
                Some(key) => {
                    if map.insert(key, value).is_some() {
                        return Err("a key stands twice in one map");
                    }
                }
            },
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use serde_json::json;

    use super::read;

    #[test]
    fn anchors_are_followed_and_tags_make_text() {
        let text = "a: &x {k: [1, ~]}\nb: *x\nc: !!str 12\nd: |\n  two\n  lines\n";
        let expected = json!({
            "a": { "k": [1, null] }, "b": { "k": [1, null] }, "c": "12", "d": "two\nlines\n"
        });
        assert_eq!(read(text), Ok(expected));
    }

    #[test]
    fn what_grows_without_bound_is_refused() {
        let mut text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
        for n in 1..12 {
            let before = vec![format!("*a{}", n - 1); 10].join(", ");
            writeln!(text, "a{n}: &a{n} [{before}]").expect("text takes it");
        }
        let fault = read(&text).expect_err("too many");
        assert!(fault.problem.contains("too many values"), "{fault}");
        let deep = read(&"[".repeat(10_000)).expect_err("too deep");
        assert!(deep.problem.contains("recursion limit"), "{deep}");
        let blocks: Vec<String> = (0..100).map(|n| format!("{}a:\n", " ".repeat(n))).collect();
        let deep = read(&blocks.concat()).expect_err("too deep");
        assert!(deep.problem.contains("deep"), "{deep}");
        assert!(read("a: 1\na: 2\n").is_err());
        assert!(read("? [a, b]\n: 1\n").is_err());
    }
}
