//! The clients and proxies whose files are known, and how they are called.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;

/// A program that keeps MCP servers in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(into = "&'static str")]
pub enum Client {
    /// Claude Code.
    ClaudeCode,
    /// Claude Desktop.
    ClaudeDesktop,
    /// Cursor.
    Cursor,
    /// VS Code.
    VsCode,
    /// Windsurf.
    Windsurf,
    /// Codex.
    Codex,
    /// Gemini CLI.
    GeminiCli,
    /// Zed.
    Zed,
    /// Goose.
    Goose,
    /// `OpenCode`.
    OpenCode,
    /// The proxy written in Go.
    McpproxyGo,
    /// The file that several proxies call `servers.json`.
    ServersJson,
    /// Magg.
    Magg,
}

impl Client {
    /// All of them, in the order in which they are looked at.
    pub const ALL: [Self; 13] = [
        Self::ClaudeCode,
        Self::ClaudeDesktop,
        Self::Cursor,
        Self::VsCode,
        Self::Windsurf,
        Self::Codex,
        Self::GeminiCli,
        Self::Zed,
        Self::Goose,
        Self::OpenCode,
        Self::McpproxyGo,
        Self::ServersJson,
        Self::Magg,
    ];

    /// The word for it on a command line.
    pub fn id(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
            Self::ClaudeDesktop => "claude-desktop",
            Self::Cursor => "cursor",
            Self::VsCode => "vscode",
            Self::Windsurf => "windsurf",
            Self::Codex => "codex",
            Self::GeminiCli => "gemini-cli",
            Self::Zed => "zed",
            Self::Goose => "goose",
            Self::OpenCode => "opencode",
            Self::McpproxyGo => "mcpproxy-go",
            Self::ServersJson => "servers-json",
            Self::Magg => "magg",
        }
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::ClaudeCode => "Claude Code",
            Self::ClaudeDesktop => "Claude Desktop",
            Self::Cursor => "Cursor",
            Self::VsCode => "VS Code",
            Self::Windsurf => "Windsurf",
            Self::Codex => "Codex",
            Self::GeminiCli => "Gemini CLI",
            Self::Zed => "Zed",
            Self::Goose => "Goose",
            Self::OpenCode => "OpenCode",
            Self::McpproxyGo => "mcpproxy-go",
            Self::ServersJson => "servers.json",
            Self::Magg => "Magg",
        }
    }

    /// Whether it speaks to servers for a model, so that we can be one of them.
    pub fn can_connect(self) -> bool {
        !matches!(self, Self::McpproxyGo | Self::ServersJson | Self::Magg)
    }

    /// The one that is meant by a word, whatever its case: its id, its name, or another usual word for it.
    pub fn from_word(word: &str) -> Option<Self> {
        let plain = |text: &str| {
            let kept = text.chars().filter(char::is_ascii_alphanumeric);
            kept.collect::<String>().to_ascii_lowercase()
        };
        let word = plain(word);
        let is_meant = |client: &Self| plain(client.id()) == word || plain(client.name()) == word;
        Self::ALL.into_iter().find(is_meant).or(match &*word {
            "claude" => Some(Self::ClaudeCode),
            "desktop" => Some(Self::ClaudeDesktop),
            "code" | "copilot" | "visualstudiocode" => Some(Self::VsCode),
            "gemini" => Some(Self::GeminiCli),
            _ => None,
        })
    }
}

/// It is written as its id.
impl JsonSchema for Client {
    fn schema_name() -> Cow<'static, str> {
        "Client".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let ids = Self::ALL.map(Self::id);
        json_schema!({
            "description": "A program that keeps MCP servers in a file.",
            "type": "string",
            "enum": ids,
        })
    }
}

impl From<Client> for &'static str {
    fn from(client: Client) -> Self {
        client.id()
    }
}

#[cfg(test)]
mod tests {
    use super::Client;

    #[test]
    fn every_client_is_known_by_its_id_and_its_name() {
        for client in Client::ALL {
            assert_eq!(Client::from_word(client.id()), Some(client));
            assert_eq!(Client::from_word(client.name()), Some(client));
        }
        assert_eq!(Client::from_word("Claude"), Some(Client::ClaudeCode));
        assert_eq!(Client::from_word("VS_Code"), Some(Client::VsCode));
        assert_eq!(Client::from_word("emacs"), None);
        assert_eq!(Client::from_word(""), None);
    }
}
