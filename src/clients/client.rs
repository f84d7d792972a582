//! A program that keeps MCP servers in a file: what its row of the table says.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};
use serde_json::Value;

use super::{
    rows::CLIENTS,
    table::{ClientSpec, Folder},
};
use crate::text::names;

/// A program that keeps MCP servers in a file.
#[derive(Clone, Copy)]
pub struct Client(pub(super) &'static ClientSpec);

impl Client {
    /// All of them, in the order in which they are looked at.
    pub fn all() -> impl Iterator<Item = Self> + Clone {
        CLIENTS.iter().map(Self)
    }

    /// The words for those of which this is so.
    pub fn listed(is_meant: impl Fn(Self) -> bool) -> String {
        let meant = Self::all().filter(|client| is_meant(*client));
        meant.map(Self::id).collect::<Vec<_>>().join(", ")
    }

    /// The word for it on a command line.
    pub fn id(self) -> &'static str {
        self.0.id
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        self.0.title
    }

    /// Whether it speaks to servers for a model, so that we can be one of them.
    pub fn can_connect(self) -> bool {
        self.0.entry.is_some()
    }

    /// Whether it connects to addresses on this machine.
    pub fn speaks_http(self) -> bool {
        self.0.entry.as_ref().is_some_and(|entry| entry.has_http)
    }

    /// The one that is meant by a word, whatever its case: its id, its name, or another usual word for it.
    pub fn from_word(word: &str) -> Option<Self> {
        let plain = |text: &str| {
            let kept = text.chars().filter(char::is_ascii_alphanumeric);
            kept.collect::<String>().to_ascii_lowercase()
        };
        let word = plain(word);
        let is_named = |client: &Self| plain(client.id()) == word || plain(client.name()) == word;
        let mut others = Self::all().filter(|client| client.0.words.contains(&&*word));
        Self::all().find(is_named).or_else(|| others.next())
    }

    /// Which of these a word may mean that is none of them, `claude` say.
    pub fn meant_by(word: &str, known: &[&'static str]) -> Option<String> {
        let word = word.to_ascii_lowercase();
        let longer = known.iter().filter(|id| {
            let rest = id.strip_prefix(word.as_str());
            rest.is_some_and(|rest| rest.starts_with('-'))
        });
        let longer: Vec<&str> = longer.copied().collect();
        if !longer.is_empty() {
            return Some(names::did_you_mean(&longer));
        }
        if let Some(close) = names::closest(&word, known.iter().copied()) {
            return Some(names::did_you_mean(&[close]));
        }
        let shorter = known.iter().filter_map(|id| Some(id.split_once('-')?.0));
        Self::meant_by(names::closest(&word, shorter)?, known)
    }

    /// How the path of a file that is its ends. What a variable names may be called anything.
    pub(super) fn endings(self) -> impl Iterator<Item = &'static str> {
        let files = self.0.files.iter();
        let files = files.filter(|(folder, _)| !matches!(folder, Folder::Variable(..)));
        let files = files.map(|(_, file)| *file);
        let others = [self.0.project_files, self.0.endings].into_iter().flatten();
        files.chain(others.copied())
    }

    /// Whose a file is by what stands in it.
    pub(super) fn of_content(root: &Value) -> Self {
        let mut clients = Self::all();
        let found = clients.find(|client| (client.0.is_its)(root));
        found.expect("the last row takes every file")
    }

    /// The keys of the lists of servers in a file. One inside another is meant in its place, unless it is an entry itself.
    pub(super) fn lists_in(self, root: &Value) -> Vec<&'static [&'static str]> {
        let is_list = |path: &&&'static [&'static str]| {
            let list = path.iter().try_fold(root, |value, key| value.get(key));
            list.is_some_and(can_be_list)
        };
        let there: Vec<_> = self.0.lists.iter().filter(is_list).copied().collect();
        let is_outer = |path: &&[&str]| {
            let mut inner = there.iter().filter(|inner| inner.len() > path.len());
            inner.any(|inner| inner.starts_with(path))
        };
        let inmost = there.iter().filter(|path| !is_outer(path));
        inmost.copied().collect()
    }

    /// The keys of the list to which an entry is written.
    pub(super) fn own_list(self, root: &Value) -> &'static [&'static str] {
        let first = self.0.lists.first().copied().unwrap_or_default();
        let mut lists = self.lists_in(root).into_iter();
        lists.find(|path| path.starts_with(first)).unwrap_or(first)
    }
}

/// Whether what stands where a list could be is no entry: what it has under keys of entries are servers of these names.
fn can_be_list(value: &Value) -> bool {
    let said = ["type", "command", "url"].map(|key| value.get(key));
    said.into_iter().flatten().all(Value::is_object)
}

/// The one of files that no other client has.
impl Default for Client {
    fn default() -> Self {
        Self::of_content(&Value::Null)
    }
}

impl PartialEq for Client {
    fn eq(&self, other: &Self) -> bool {
        self.id() == other.id()
    }
}

impl Eq for Client {}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.id())
    }
}

/// It is written as its id.
impl Serialize for Client {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.id())
    }
}

impl JsonSchema for Client {
    fn schema_name() -> Cow<'static, str> {
        "Client".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let ids: Vec<&str> = Self::all().map(Self::id).collect();
        json_schema!({
            "description": "A program that keeps MCP servers in a file.",
            "type": "string",
            "enum": ids,
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::Client;

    #[test]
    fn every_client_is_known_by_its_id_and_its_name() {
        for client in Client::all() {
            assert_eq!(Client::from_word(client.id()), Some(client));
            assert_eq!(Client::from_word(client.name()), Some(client));
        }
        for (word, expected) in [
            ("Claude", None),
            ("VS_Code", Some("vscode")),
            ("copilot", Some("vscode")),
            ("emacs", None),
            ("", None),
        ] {
            assert_eq!(Client::from_word(word).map(Client::id), expected, "{word}");
        }
        let known: Vec<&str> = Client::all().map(Client::id).collect();
        let meant = |word| Client::meant_by(word, &known);
        let both = r#"did you mean "claude-code" or "claude-desktop"?"#;
        assert_eq!(meant("Claude").as_deref(), Some(both));
        assert_eq!(meant("cluade").as_deref(), Some(both));
        assert_eq!(meant("cursr").as_deref(), Some(r#"did you mean "cursor"?"#));
        assert_eq!(meant("emacs"), None);
    }

    #[test]
    fn whose_a_file_is_shows_in_its_keys() {
        let check = |expected: &str, root: Value| {
            assert_eq!(Client::of_content(&root).id(), expected, "{root}");
        };
        check("mcpproxy-go", json!({ "mcpServers": [] }));
        check("servers-json", json!({ "mcpServers": {} }));
        check(
            "servers-json",
            json!({ "mcpServers": {}, "extensions": {} }),
        );
        check("zed", json!({ "context_servers": {} }));
        check("codex", json!({ "mcp_servers": {} }));
        check("goose", json!({ "extensions": {} }));
        check("vscode", json!({ "servers": { "a": { "command": "x" } } }));
        check("magg", json!({ "servers": { "a": { "source": "x" } } }));
        check("opencode", json!({ "mcp": {} }));
        let listed = |entry: Value| json!({ "mcpServers": { "a": {}, "b": entry } });
        check("windsurf", listed(json!({ "serverUrl": "x" })));
        check("gemini-cli", listed(json!({ "httpUrl": "x" })));
        check("gemini-cli", listed(json!({ "url": "x", "trust": true })));
        check("cursor", listed(json!({ "envFile": ".env" })));
        check("servers-json", listed(json!({ "url": "x" })));
        let below = |entry: Value| json!({ "mcp": { "servers": { "a": entry } } });
        check("vscode", below(json!({ "command": "x", "args": [] })));
        check(
            "opencode",
            below(json!({ "type": "local", "command": ["x"] })),
        );
        check("servers-json", json!(7));
    }
}
