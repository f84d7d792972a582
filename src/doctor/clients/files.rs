//! Where clients keep their servers.

use std::{
    fs::File,
    io::{self, Read},
    path::{Path, PathBuf},
};

use super::{
    entries::{self, ClientEntry},
    toml,
};
use crate::config;

/// Limit: Claude Code keeps its history in the same file.
const LARGEST: u64 = 64 << 20;

/// A file that a client may have.
pub(super) struct ClientFile {
    pub(super) client: &'static str,
    pub(super) path: PathBuf,
}

/// Below the home folder.
const IN_HOME: [(&str, &str); 10] = [
    ("Claude Code", ".claude.json"),
    (
        "Claude Desktop",
        "Library/Application Support/Claude/claude_desktop_config.json",
    ),
    (
        "Claude Desktop",
        ".config/Claude/claude_desktop_config.json",
    ),
    ("Cursor", ".cursor/mcp.json"),
    ("VS Code", "Library/Application Support/Code/User/mcp.json"),
    ("VS Code", ".config/Code/User/mcp.json"),
    ("VS Code", ".vscode-server/data/User/mcp.json"),
    ("Windsurf", ".codeium/windsurf/mcp_config.json"),
    ("Codex", ".codex/config.toml"),
    ("Gemini CLI", ".gemini/settings.json"),
];

/// In the folder of a project.
const IN_PROJECT: [(&str, &str); 5] = [
    ("Claude Code", ".mcp.json"),
    ("Cursor", ".cursor/mcp.json"),
    ("VS Code", ".vscode/mcp.json"),
    ("Codex", ".codex/config.toml"),
    ("Gemini CLI", ".gemini/settings.json"),
];

/// All that may be there, each once.
pub(super) fn all(home: &Path, folder: &Path) -> Vec<ClientFile> {
    let in_home = IN_HOME
        .iter()
        .map(|(client, file)| (client, home.join(file)));
    let in_project = IN_PROJECT
        .iter()
        .map(|(client, file)| (client, folder.join(file)));
    let mut all: Vec<ClientFile> = Vec::new();
    for (client, path) in in_home.chain(in_project) {
        if !all.iter().any(|known| known.path == path) {
            all.push(ClientFile { client, path });
        }
    }
    all
}

impl ClientFile {
    /// The servers in it; nothing where there is no such file.
    pub(super) fn read(&self) -> Result<Option<Vec<ClientEntry>>, String> {
        let text = match self.text() {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error.to_string()),
        };
        if self.path.extension().is_some_and(|kind| kind == "toml") {
            return Ok(Some(toml::entries(&text)));
        }
        let root = config::json_of(&text).map_err(|error| error.to_string())?;
        Ok(Some(entries::of_json(&root)))
    }

    fn text(&self) -> io::Result<String> {
        let file = File::open(&self.path)?;
        if !file.metadata()?.is_file() {
            return Err(io::Error::other("it is no file"));
        }
        let mut text = String::new();
        file.take(LARGEST).read_to_string(&mut text)?;
        Ok(text)
    }
}
