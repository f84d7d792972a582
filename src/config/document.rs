//! Reads the text of a configuration file, JSON with comments and trailing commas, into JSON values, and notes repeated keys.

use std::{borrow::Cow, collections::BTreeMap, ops::Range};

use jsonc_parser::{
    CollectOptions, ParseOptions, ParseStringErrorKind, ast, common::Ranged,
    errors::ParseErrorKind, parse_to_ast,
};
use serde_json::{Map, Value};

use super::{ConfigError, ConfigFinding, LineColumn, unknown_keys};

/// The key with the servers.
pub(super) const SERVERS: &str = "mcpServers";

/// The key of access control, in which everything is read strictly.
pub(super) const SERVER_AUTH: &str = "serverAuth";

/// The text of a configuration file and its values, not yet checked.
#[derive(Debug, Default)]
pub struct Document<'a> {
    /// The text as it is in the file.
    pub(super) written: &'a str,
    /// The text, without a byte order mark.
    pub(super) text: &'a str,
    /// The syntax tree, an object; nothing where the text has no value.
    pub(super) root: Option<ast::Value<'a>>,
    /// The values of the top level, except the servers.
    pub(super) settings: Map<String, Value>,
    /// The servers in the order of the file; repeated names included.
    pub(super) servers: Vec<WrittenServer>,
    /// The keys that appear twice in one object; the last one counts.
    pub(super) repeated: Repeated,
}

/// Some editors put it at the beginning of a file. It is not part of JSON.
const BYTE_ORDER_MARK: char = '\u{feff}';

/// Splits a text into its byte order mark, if it has one, and the rest.
pub(super) fn split_mark(text: &str) -> (&str, &str) {
    let json = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
    text.split_at(text.len() - json.len())
}

/// One entry under `mcpServers`.
#[derive(Debug)]
pub(super) struct WrittenServer {
    /// The name as written; nothing if an entry in an array has none.
    pub(super) name: Option<String>,
    pub(super) entry: Value,
    /// Paths, inside the entry, of keys that appear twice in one object.
    pub(super) repeated: Vec<String>,
}

/// JSON with comments and trailing commas. Other extensions are refused, because other programs could not read the file.
const OPTIONS: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_trailing_commas: true,
    allow_loose_object_property_names: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// JSON without extensions.
const STRICT: ParseOptions = ParseOptions {
    allow_comments: false,
    allow_trailing_commas: false,
    ..OPTIONS
};

/// The syntax tree of a text; nothing if it has only comments.
pub(super) fn tree(text: &str) -> Result<Option<ast::Value<'_>>, ConfigError> {
    tree_of(text, &OPTIONS)
}

/// Checks that a text is JSON without extensions.
pub(super) fn strict_json(text: &str) -> Result<(), ConfigError> {
    tree_of(text, &STRICT).map(drop)
}

fn tree_of<'t>(
    text: &'t str,
    options: &ParseOptions,
) -> Result<Option<ast::Value<'t>>, ConfigError> {
    parse_to_ast(text, &CollectOptions::default(), options)
        .map(|result| result.value)
        .map_err(|error| ConfigError::Syntax {
            place: LineColumn {
                line: error.line_display(),
                column: error.column_display(),
            },
            problem: problem(
                error.kind(),
                text.get(error.range().start..).unwrap_or_default(),
            ),
        })
}

/// The parser's error in words for the author of the file; `rest` begins at its place.
fn problem(found: &ParseErrorKind, rest: &str) -> String {
    let known = match found {
        ParseErrorKind::ExpectedStringObjectProperty if rest.starts_with(char::is_alphabetic) => {
            "a key needs double quotes"
        }
        ParseErrorKind::ExpectedStringObjectProperty => "a key in double quotes is missing",
        ParseErrorKind::ExpectedColonAfterObjectKey => "the `:` after the key is missing",
        ParseErrorKind::ExpectedObjectValue => "the value is missing",
        ParseErrorKind::ExpectedComma => "a comma is missing here",
        ParseErrorKind::UnterminatedObject => "this `{` is never closed",
        ParseErrorKind::UnterminatedArray => "this `[` is never closed",
        ParseErrorKind::UnterminatedCommentBlock => "this comment is never closed",
        ParseErrorKind::CommentsNotAllowed => "a comment is not allowed here",
        ParseErrorKind::TrailingCommasNotAllowed => "there is an extra comma before this",
        ParseErrorKind::SingleQuotedStringsNotAllowed => {
            "a string needs double quotes, not single ones"
        }
        ParseErrorKind::MultipleRootJsonValues if rest.starts_with(['}', ']', ',']) => {
            "the first bracket is closed before this: one is too many"
        }
        ParseErrorKind::MultipleRootJsonValues => "more text follows the end",
        ParseErrorKind::NestingDepthExceeded => "it is nested too deeply",
        ParseErrorKind::BareDecimalPointNumbersNotAllowed
        | ParseErrorKind::ExpectedDigit
        | ParseErrorKind::ExpectedDigitFollowingNegativeSign
        | ParseErrorKind::ExpectedPlusMinusOrDigitInNumberLiteral => {
            "a digit is missing in this number"
        }
        ParseErrorKind::HexadecimalNumbersNotAllowed
        | ParseErrorKind::NonFiniteNumbersNotAllowed
        | ParseErrorKind::UnaryPlusNumbersNotAllowed => {
            "this is not a decimal number such as 1, -2 or 0.5"
        }
        ParseErrorKind::String(ParseStringErrorKind::UnterminatedStringLiteral) => {
            "this string has no closing quote"
        }
        ParseErrorKind::String(_) => "a string has a wrong `\\`; a backslash itself is `\\\\`",
        ParseErrorKind::UnexpectedCloseBrace
        | ParseErrorKind::UnexpectedCloseBracket
        | ParseErrorKind::UnexpectedColon
        | ParseErrorKind::UnexpectedComma
        | ParseErrorKind::UnexpectedToken
        | ParseErrorKind::UnexpectedTokenInObject
        | ParseErrorKind::UnexpectedWord => match rest.chars().next() {
            // The word itself may be a secret.
            Some(c) if c.is_alphabetic() => "a string needs double quotes",
            Some('“' | '”' | '„' | '‘' | '’') => "a string needs straight double quotes",
            Some(c) => return format!("`{c}` is not allowed here"),
            None => "it ends too early",
        },
    };
    known.to_owned()
}

/// Reads JSON with comments and trailing commas, such as a file of another program. An empty text is null.
pub fn json_of(text: &str) -> Result<Value, ConfigError> {
    json_and_repeated(text).map(|(value, _)| value)
}

/// [`json_of`] with the paths of keys that appear twice in one object, and where they appear again; the last one counts.
pub fn json_and_repeated(text: &str) -> Result<(Value, Vec<(String, LineColumn)>), ConfigError> {
    let (_, text) = split_mark(text);
    let root = tree(text)?;
    let mut repeated = Vec::new();
    let value = root.map_or(Value::Null, |root| to_json(&root, "", &mut repeated));
    let placed = repeated.iter().map(|(path, at)| {
        let path = path.trim_start_matches('.').to_owned();
        (path, LineColumn::of_byte(text, *at))
    });
    Ok((value, placed.collect()))
}

/// Reads the text of a configuration file. An empty one is an empty document.
pub(super) fn read(written: &str) -> Result<Document<'_>, ConfigError> {
    let (_, text) = split_mark(written);
    let mut document = Document {
        written,
        text,
        ..Document::default()
    };
    let root = tree(text)?;
    let object = match &root {
        None => return Ok(document),
        Some(ast::Value::Object(object)) => object,
        Some(other) => {
            return Err(ConfigError::Syntax {
                place: LineColumn::of_byte(text, other.start()),
                problem: "the configuration must be an object".to_owned(),
            });
        }
    };
    for property in &object.properties {
        let key = property.name.as_str();
        if key == SERVERS {
            document.read_servers(property)?;
        } else {
            let value = document.value(&property.value, key);
            document.put(key, property.start(), value);
        }
    }
    if let Some(property) = misspelt_servers(object, &document.settings) {
        let problem = format!("is unknown; did you mean `{SERVERS}`?");
        return Err(document.fault(property, problem));
    }
    document.root = root;
    Ok(document)
}

/// A misspelt `mcpServers` that has entries. Ignoring it would stop all of its servers that run, and adding a server would create a second
/// map.
fn misspelt_servers<'r, 'a>(
    root: &'r ast::Object<'a>,
    settings: &Map<String, Value>,
) -> Option<&'r ast::ObjectProp<'a>> {
    let is_entry = |entry: &Value| entry.is_object();
    let mut found = settings.iter().filter(|(key, value)| {
        let has_entries = match value {
            Value::Object(map) => !map.is_empty() && map.values().all(is_entry),
            Value::Array(list) => !list.is_empty() && list.iter().all(is_entry),
            _ => false,
        };
        has_entries && unknown_keys::meant(key, &[SERVERS]).is_some()
    });
    let (key, _) = found.next()?;
    let mut properties = root.properties.iter();
    properties.find(|property| property.name.as_str() == key)
}

impl<'a> Document<'a> {
    /// The text as it is in the file.
    pub fn written(&self) -> &'a str {
        self.written
    }

    /// Converts a range of bytes of `written` to one of `text`.
    pub(super) fn range_in_text(&self, written: &Range<usize>) -> Range<usize> {
        let mark = self.written.len() - self.text.len();
        written.start.saturating_sub(mark)..written.end.saturating_sub(mark)
    }

    /// The entries by name, or by number if they have none. Of two with the same name the first counts.
    pub(super) fn named(&self) -> BTreeMap<Cow<'_, str>, &Value> {
        let mut named = BTreeMap::new();
        for (number, server) in self.servers.iter().enumerate() {
            let name = server.name.as_deref().map(Cow::Borrowed);
            let name = name.unwrap_or_else(|| format!("#{number}").into());
            named.entry(name).or_insert(&server.entry);
        }
        named
    }

    /// The members of the top level.
    pub(super) fn members(&self) -> &[ast::ObjectProp<'a>] {
        match &self.root {
            Some(ast::Value::Object(root)) => &root.properties,
            _ => &[],
        }
    }

    /// The servers, each with its entry in the syntax tree.
    pub(super) fn servers_in_tree(
        &self,
    ) -> impl Iterator<Item = (&WrittenServer, &ast::Value<'a>)> {
        let members = self.members().iter();
        let servers = members.filter(|member| member.name.as_str() == SERVERS);
        let entries = servers.flat_map(|member| -> Vec<&ast::Value<'a>> {
            match &member.value {
                ast::Value::Object(map) => map.properties.iter().map(|one| &one.value).collect(),
                ast::Value::Array(array) => array.elements.iter().collect(),
                _ => Vec::new(),
            }
        });
        self.servers.iter().zip(entries)
    }

    fn fault(
        &self,
        property: &ast::ObjectProp<'_>,
        problem: impl std::fmt::Display,
    ) -> ConfigError {
        let finding = ConfigFinding {
            at: Some(property.start()),
            ..ConfigFinding::new(property.name.as_str(), problem)
        };
        ConfigError::of(vec![finding], self.text)
    }

    fn put(&mut self, key: &str, at: usize, value: Value) {
        if self.settings.insert(key.to_owned(), value).is_some() {
            self.repeated.push((key.to_owned(), at));
        }
    }

    fn read_servers(&mut self, servers: &ast::ObjectProp<'_>) -> Result<(), ConfigError> {
        match &servers.value {
            ast::Value::Object(map) => {
                for property in &map.properties {
                    let name = property.name.as_str();
                    let mut server = self.server(&property.value, &format!("{SERVERS}.{name}"));
                    server.name = Some(name.to_owned());
                    self.servers.push(server);
                }
            }
            ast::Value::Array(array) => {
                for (index, element) in array.elements.iter().enumerate() {
                    let mut server = self.server(element, &format!("{SERVERS}[{index}]"));
                    let entry = server.entry.as_object_mut();
                    let name = entry.and_then(|entry| entry.shift_remove("name"));
                    server.name = name.and_then(|name| name.as_str().map(str::to_owned));
                    self.servers.push(server);
                }
            }
            ast::Value::NullKeyword(_) => {}
            _ => {
                let problem = "must be a map {\"name\": {…}} or an array [{\"name\": …}]";
                return Err(self.fault(servers, problem));
            }
        }
        Ok(())
    }

    /// An entry without its name.
    fn server(&mut self, entry: &ast::Value<'_>, path: &str) -> WrittenServer {
        let before = self.repeated.len();
        let entry = self.value(entry, path);
        let found = self.repeated.get(before..).unwrap_or_default();
        let inside = found
            .iter()
            .filter_map(|(repeated, _)| repeated.strip_prefix(path)?.strip_prefix('.'));
        WrittenServer {
            name: None,
            entry,
            repeated: inside.map(str::to_owned).collect(),
        }
    }

    fn value(&mut self, value: &ast::Value<'_>, path: &str) -> Value {
        to_json(value, path, &mut self.repeated)
    }
}

/// Paths of repeated keys, each with the byte of the last one.
type Repeated = Vec<(String, usize)>;

/// The JSON value of a syntax tree; of repeated keys the last one counts.
pub(super) fn value_of(value: &ast::Value<'_>) -> Value {
    to_json(value, "", &mut Vec::new())
}

/// [`value_of`] that notes repeated keys; `path` is that of the value.
fn to_json(value: &ast::Value<'_>, path: &str, repeated: &mut Repeated) -> Value {
    match value {
        ast::Value::NullKeyword(_) => Value::Null,
        ast::Value::BooleanLit(literal) => Value::Bool(literal.value),
        ast::Value::StringLit(literal) => Value::String(literal.value.clone().into_owned()),
        // A number that JSON cannot hold is kept as text, so that whoever wants a number refuses it.
        ast::Value::NumberLit(literal) => serde_json::from_str(literal.value)
            .unwrap_or_else(|_| Value::String(literal.value.to_owned())),
        ast::Value::Array(array) => array
            .elements
            .iter()
            .enumerate()
            .map(|(index, element)| to_json(element, &format!("{path}[{index}]"), repeated))
            .collect(),
        ast::Value::Object(object) => {
            let mut map = Map::new();
            for property in &object.properties {
                let key = property.name.as_str();
                let path = format!("{path}.{key}");
                let value = to_json(&property.value, &path, repeated);
                if map.insert(key.to_owned(), value).is_some() {
                    repeated.push((path, property.start()));
                }
            }
            Value::Object(map)
        }
    }
}

/// The members of an object that are not null.
pub(super) fn present(object: Value) -> Map<String, Value> {
    let Value::Object(mut members) = object else {
        return Map::new();
    };
    members.retain(|_, value| !value.is_null());
    members
}

/// A string as it is, and any other value as JSON.
pub(super) fn plain_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_trailing_commas_are_read() {
        let document =
            read("\u{feff}// c\n{\"listen\": \":1\", /* x */ \"mcpServers\": {\"a\": {},},}")
                .expect("a good document");
        assert_eq!(document.settings["listen"], ":1");
        assert_eq!(document.servers[0].name.as_deref(), Some("a"));
        for empty in ["", "  \n", "// nothing\n"] {
            assert!(
                read(empty).expect("a good document").servers.is_empty(),
                "{empty:?}"
            );
        }
    }

    #[track_caller]
    fn check(input: &str, expected: &str) {
        assert_eq!(
            read(input).expect_err("a bad document").to_string(),
            expected
        );
    }

    #[test]
    fn a_syntax_error_has_its_place() {
        check(
            "{\n  \"a\": 1,,\n}",
            "line 2, column 10: `,` is not allowed here",
        );
        check(
            "{\"a\": “1”}",
            "line 1, column 7: a string needs straight double quotes",
        );
        check(
            "{\"a\" 1}",
            "line 1, column 6: the `:` after the key is missing",
        );
        check(
            "{\"a\": 'x'}",
            "line 1, column 7: a string needs double quotes, not single ones",
        );
        check("{a: 1}", "line 1, column 2: a key needs double quotes");
        check(
            "\n[]",
            "line 2, column 1: the configuration must be an object",
        );
        for (text, words) in [
            ("{\"a\": }", "`}` is not allowed here"),
            ("{\"a\": 1 \"b\": 2}", "a comma is missing here"),
            ("{\"a\": 1} 2", "more text follows the end"),
            (
                "{\"a\": {}}, \"b\": {}}",
                "the first bracket is closed before this: one is too many",
            ),
            ("{\"a\": ghp_x}", "a string needs double quotes"),
            (
                "{\"a\": 0x1F}",
                "this is not a decimal number such as 1, -2 or 0.5",
            ),
            ("{\"a\": .5}", "a digit is missing in this number"),
            ("{\"a\": -}", "a digit is missing in this number"),
            ("{\"a\": \"b", "this string has no closing quote"),
            (
                "{\"a\": \"\\q\"}",
                "a string has a wrong `\\`; a backslash itself is `\\\\`",
            ),
            ("{\"a\": [1", "this `[` is never closed"),
            ("{", "this `{` is never closed"),
            ("/* ", "this comment is never closed"),
        ] {
            let mistake = read(text).expect_err(text).to_string();
            assert!(mistake.ends_with(words), "{text}: {mistake}");
        }
        let strict = |text: &str| strict_json(text).map_err(|mistake| mistake.to_string());
        assert_eq!(strict("{\"a\": [1, 2]}"), Ok(()));
        for (text, words) in [
            ("// a", "line 1, column 1: a comment is not allowed here"),
            (
                "[1,]",
                "line 1, column 3: there is an extra comma before this",
            ),
        ] {
            assert_eq!(strict(text), Err(words.to_owned()));
        }
        check(
            "{\"mcpServers\": 3}",
            "line 1, column 2: `mcpServers` must be a map {\"name\": {…}} or an array [{\"name\": …}]",
        );
    }

    #[test]
    fn servers_under_a_misspelt_key_are_a_fault() {
        for key in ["mcpServer", "mcpservers", "mcp_servers", "servers"] {
            check(
                &format!("{{\"{key}\": {{\"a\": {{\"command\": \"x\"}}}}}}"),
                &format!("line 1, column 2: `{key}` is unknown; did you mean `mcpServers`?"),
            );
            check(
                &format!("{{\"{key}\": [{{\"name\": \"a\"}}], \"mcpServers\": {{\"b\": {{}}}}}}"),
                &format!("line 1, column 2: `{key}` is unknown; did you mean `mcpServers`?"),
            );
        }
        for fine in [
            r#"{"mcpServer": {}}"#,
            r#"{"mcpServer": {}, "mcpServers": {}}"#,
            r#"{"servers": 3}"#,
            r#"{"profiles": {"a": {}}, "environment": {"set": {}}}"#,
        ] {
            assert!(read(fine).is_ok(), "{fine}");
        }
    }

    #[test]
    fn deep_nesting_is_an_error_not_a_crash() {
        let text = "[".repeat(100_000);
        assert!(matches!(read(&text), Err(ConfigError::Syntax { .. })));
    }

    #[test]
    fn repeated_keys_are_noticed() {
        let document = read(
            "{\"listen\": 1, \"listen\": 2, \"mcpServers\": {\"a\": {\"x\": 1, \"x\": 2}, \"a\": {}}}",
        )
        .expect("a good document");
        let repeated = [("listen".to_owned(), 14), ("mcpServers.a.x".to_owned(), 56)];
        assert_eq!(document.repeated, repeated);
        assert_eq!(document.settings["listen"], 2);
        assert_eq!(document.servers.len(), 2);
    }

    #[test]
    fn an_array_of_servers_names_each() {
        let document = read("{\"mcpServers\": [{\"name\": \"a\", \"url\": \"x\"}, {}, 3]}")
            .expect("a good document");
        let names: Vec<_> = document.servers.iter().map(|s| s.name.as_deref()).collect();
        assert_eq!(names, [Some("a"), None, None]);
        assert!(document.servers[0].entry.get("name").is_none());
    }
}
