//! Where clients keep their files: in the home folder, in the folders of the platform, and in the folder of a project.

use std::{
    env,
    path::{Path, PathBuf},
};

use super::{clients::Client, formats::FileFormat, found::ClientFile, scope::Scope};

/// The folders below which files of clients are looked for.
#[derive(Debug, Clone)]
pub struct ClientPlaces {
    home: PathBuf,
    /// `$XDG_CONFIG_HOME`, or `~/.config`.
    config: PathBuf,
    /// `$CODEX_HOME`, or `~/.codex`.
    codex: PathBuf,
    /// `$CLAUDE_CONFIG_DIR`, or the home folder.
    claude: PathBuf,
    /// Where the current project is.
    project: PathBuf,
    /// `$MAGG_CONFIG_PATH`.
    magg: Option<PathBuf>,
}

impl ClientPlaces {
    /// The usual places below a home folder, and those of the project in which a folder lies.
    pub fn new(home: &Path, folder: &Path) -> Self {
        Self {
            home: home.to_owned(),
            config: home.join(".config"),
            codex: home.join(".codex"),
            claude: home.to_owned(),
            project: project_of(folder, home),
            magg: None,
        }
    }

    /// Those of the person who runs this program; nothing where there is no home folder.
    pub fn of_process() -> Option<Self> {
        let home = env::home_dir().filter(|home| !home.as_os_str().is_empty())?;
        let folder = env::current_dir().unwrap_or_else(|_| PathBuf::from("/"));
        let usual = Self::new(&home, &folder);
        let set = |variable: &str| {
            let path = env::var_os(variable).map(PathBuf::from);
            path.filter(|path| path.is_absolute())
        };
        Some(Self {
            config: set("XDG_CONFIG_HOME").unwrap_or(usual.config),
            codex: set("CODEX_HOME").unwrap_or(usual.codex),
            claude: set("CLAUDE_CONFIG_DIR").unwrap_or(usual.claude),
            magg: set("MAGG_CONFIG_PATH"),
            ..usual
        })
    }

    /// The home folder.
    pub fn home(&self) -> &Path {
        &self.home
    }

    /// All files that may be there, each once, in the order in which they count.
    pub fn files(&self) -> Vec<ClientFile> {
        let mut all: Vec<ClientFile> = Vec::new();
        for client in Client::ALL {
            for file in self.files_of(client) {
                if all.iter().all(|known| known.path != file.path) {
                    all.push(file);
                }
            }
        }
        all
    }

    /// The files of one client, those of the person before those of the project. The first of a scope is the one that is made where
    /// none is there.
    pub fn files_of(&self, client: Client) -> Vec<ClientFile> {
        let user = self.user_files(client).into_iter();
        let user = user.map(|path| file(client, Scope::User, path));
        let of_project = project_files(client).iter();
        let of_project = of_project.map(|path| {
            let folder = self.project.clone();
            file(client, Scope::Project(folder), self.project.join(path))
        });
        user.chain(of_project).collect()
    }

    /// The file into which we are put: of those that are there the first, else the one that is made. Nothing where the client has none
    /// of that kind.
    pub fn file_to_connect(&self, client: Client, is_for_project: bool) -> Option<ClientFile> {
        let files = self.files_of(client).into_iter();
        let is_settings =
            |file: &ClientFile| client == Client::VsCode && file.path.ends_with("settings.json");
        let files = files.filter(|file| file.project().is_some() == is_for_project);
        let files: Vec<ClientFile> = files.filter(|file| !is_settings(file)).collect();
        let there = files.iter().find(|file| file.path.exists());
        there
            .or(files.first())
            .filter(|_| client.can_connect())
            .cloned()
    }

    /// Whether there are signs of a client: a file of it, or the folder in which it keeps that.
    pub fn is_present(&self, client: Client) -> bool {
        let files = self.files_of(client);
        let mut files = files.iter().filter(|file| file.project().is_none());
        files.any(|file| {
            let folder = file.path.parent().filter(|folder| **folder != *self.home);
            file.path.exists() || folder.is_some_and(Path::is_dir)
        }) || (client == Client::ClaudeCode && self.home.join(".claude").is_dir())
    }

    fn user_files(&self, client: Client) -> Vec<PathBuf> {
        let (home, config) = (&self.home, &self.config);
        match client {
            Client::ClaudeCode => vec![self.claude.join(".claude.json")],
            Client::ClaudeDesktop => self.application("Claude/claude_desktop_config.json"),
            Client::Cursor => vec![home.join(".cursor/mcp.json")],
            Client::VsCode => {
                let mut files = self.application("Code/User/mcp.json");
                files.extend(self.application("Code - Insiders/User/mcp.json"));
                files.push(home.join(".vscode-server/data/User/mcp.json"));
                files.extend(self.application("Code/User/settings.json"));
                files
            }
            Client::Windsurf => vec![
                home.join(".codeium/windsurf/mcp_config.json"),
                home.join(".codeium/mcp_config.json"),
            ],
            Client::Codex => vec![self.codex.join("config.toml")],
            Client::GeminiCli => vec![home.join(".gemini/settings.json")],
            Client::Zed => vec![config.join("zed/settings.json")],
            Client::Goose => vec![config.join("goose/config.yaml")],
            Client::OpenCode => vec![
                config.join("opencode/opencode.json"),
                config.join("opencode/opencode.jsonc"),
            ],
            Client::McpproxyGo => vec![home.join(".mcpproxy/mcp_config.json")],
            Client::ServersJson => vec![config.join("mcp/servers.json")],
            Client::Magg => {
                let named = self.magg.clone().into_iter();
                named.chain([home.join(".magg/config.json")]).collect()
            }
        }
    }

    /// A file that stands elsewhere on macOS; the one of this platform first.
    fn application(&self, file: &str) -> Vec<PathBuf> {
        let library = self.home.join("Library/Application Support").join(file);
        let elsewhere = self.config.join(file);
        if cfg!(target_os = "macos") {
            vec![library, elsewhere]
        } else {
            vec![elsewhere, library]
        }
    }

    /// The file of a path that somebody named: whose it is, where that is known, else by its name.
    pub fn named(&self, path: &Path) -> Option<ClientFile> {
        let known = self.files().into_iter().find(|file| file.path == path);
        known.or_else(|| by_name(path))
    }
}

fn project_files(client: Client) -> &'static [&'static str] {
    match client {
        Client::ClaudeCode => &[".mcp.json"],
        Client::Cursor => &[".cursor/mcp.json"],
        Client::VsCode => &[".vscode/mcp.json", ".vscode/settings.json"],
        Client::Codex => &[".codex/config.toml"],
        Client::GeminiCli => &[".gemini/settings.json"],
        Client::Zed => &[".zed/settings.json"],
        Client::OpenCode => &[
            "opencode.json",
            "opencode.jsonc",
            ".opencode/opencode.json",
            ".opencode/opencode.jsonc",
        ],
        Client::ServersJson => &["servers.json"],
        Client::Magg => &[".magg/config.json"],
        Client::ClaudeDesktop | Client::Windsurf | Client::Goose | Client::McpproxyGo => &[],
    }
}

fn file(client: Client, scope: Scope, path: PathBuf) -> ClientFile {
    ClientFile {
        client: Some(client),
        format: FileFormat::of(&path),
        scope,
        path,
    }
}

/// Whose file it is by what it is called and where it lies. Nothing where the format is not known.
fn by_name(path: &Path) -> Option<ClientFile> {
    let name = path.file_name()?.to_str()?;
    let folder = path.parent().and_then(Path::file_name);
    let folder = folder
        .and_then(|folder| folder.to_str())
        .unwrap_or_default();
    let client = match (folder, name) {
        (_, ".claude.json" | ".mcp.json") => Some(Client::ClaudeCode),
        (_, "claude_desktop_config.json") => Some(Client::ClaudeDesktop),
        (".cursor", "mcp.json") => Some(Client::Cursor),
        (".vscode" | "User", "mcp.json" | "settings.json") => Some(Client::VsCode),
        ("windsurf" | ".codeium", "mcp_config.json") => Some(Client::Windsurf),
        (".gemini", "settings.json") => Some(Client::GeminiCli),
        ("zed" | ".zed", "settings.json") => Some(Client::Zed),
        (_, "opencode.json" | "opencode.jsonc") => Some(Client::OpenCode),
        (".mcpproxy", _) => Some(Client::McpproxyGo),
        (".magg", _) => Some(Client::Magg),
        (_, "servers.json") => Some(Client::ServersJson),
        (_, name) if has_ending(name, &["toml"]) => Some(Client::Codex),
        (_, name) if has_ending(name, &["yaml", "yml"]) => Some(Client::Goose),
        _ => None,
    };
    let scope = match path.parent() {
        Some(folder) if path.is_absolute() && is_of_project(name) => {
            let inside = folder.file_name().is_some_and(|name| {
                [
                    ".cursor",
                    ".vscode",
                    ".codex",
                    ".gemini",
                    ".zed",
                    ".opencode",
                ]
                .iter()
                .any(|hidden| name == *hidden)
            });
            let project = if inside {
                folder.parent()
            } else {
                Some(folder)
            };
            Scope::Project(project.unwrap_or(folder).to_owned())
        }
        _ => Scope::User,
    };
    Some(ClientFile {
        client,
        format: FileFormat::of(path),
        scope,
        path: path.to_owned(),
    })
}

/// Whether a file of this name lies in a project; others are a person's.
fn is_of_project(name: &str) -> bool {
    matches!(
        name,
        ".mcp.json" | "mcp.json" | "opencode.json" | "opencode.jsonc"
    )
}

fn has_ending(name: &str, endings: &[&str]) -> bool {
    let ending = Path::new(name)
        .extension()
        .and_then(|ending| ending.to_str());
    ending.is_some_and(|ending| {
        endings
            .iter()
            .any(|known| ending.eq_ignore_ascii_case(known))
    })
}

/// The folder of the repository in which a folder lies, else that folder itself. The home folder is no project.
fn project_of(folder: &Path, home: &Path) -> PathBuf {
    let above = folder.ancestors().take_while(|above| *above != home);
    let mut repositories = above.filter(|above| above.join(".git").exists());
    repositories.next().unwrap_or(folder).to_owned()
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    use super::{Client, ClientPlaces, Scope};

    #[test]
    fn every_client_has_its_files_and_none_stands_there_twice() {
        let places = ClientPlaces::new(Path::new("/home/ada"), Path::new("/home/ada/work"));
        let files = places.files();
        for client in Client::ALL {
            assert!(
                files.iter().any(|file| file.client == Some(client)),
                "{client:?}"
            );
        }
        let mut paths: Vec<_> = files.iter().map(|file| &file.path).collect();
        paths.sort();
        paths.dedup();
        assert_eq!(paths.len(), files.len());
        // In the home folder the files of a project are those of the person.
        let home = ClientPlaces::new(Path::new("/home/ada"), Path::new("/home/ada"));
        let cursor = home.files();
        let mut cursor = cursor
            .iter()
            .filter(|file| file.path.ends_with(".cursor/mcp.json"));
        assert_eq!(cursor.next().map(|file| &file.scope), Some(&Scope::User));
        assert!(cursor.next().is_none());
    }

    #[test]
    fn a_project_is_the_repository_in_which_the_folder_lies() {
        let ground = tempfile::tempdir().expect("a folder");
        let inside = ground.path().join("repository/src/deep");
        fs::create_dir_all(&inside).expect("ours");
        fs::create_dir(ground.path().join("repository/.git")).expect("ours");
        let places = ClientPlaces::new(Path::new("/home/ada"), &inside);
        let expected = ground.path().join("repository/.mcp.json");
        assert!(places.files().iter().any(|file| file.path == expected));
    }

    #[test]
    fn a_file_that_is_named_is_known_by_its_name() {
        let places = ClientPlaces::new(Path::new("/home/ada"), Path::new("/work"));
        let check = |path: &str, expected: Option<Client>| {
            let named = places.named(Path::new(path)).expect("a file");
            assert_eq!(named.client, expected, "{path}");
        };
        check("/home/ada/.cursor/mcp.json", Some(Client::Cursor));
        check("/elsewhere/.cursor/mcp.json", Some(Client::Cursor));
        check("/x/config.toml", Some(Client::Codex));
        check("/x/config.yaml", Some(Client::Goose));
        check("/x/opencode.jsonc", Some(Client::OpenCode));
        check("/x/.magg/config.json", Some(Client::Magg));
        check("/x/what.json", None);
        let project = places
            .named(Path::new("/p/.vscode/mcp.json"))
            .expect("a file");
        assert_eq!(project.scope, Scope::Project("/p".into()));
    }
}
