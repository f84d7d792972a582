//! Where clients keep their files: in the home folder, in the folders of the platform, and in the folder of a project.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use super::{client::Client, file::ClientFile, table::Folder};

/// The folders below which files of clients are looked for.
#[derive(Debug, Clone)]
pub struct ClientPlaces {
    home: PathBuf,
    /// `$XDG_CONFIG_HOME`, or `~/.config`.
    config: PathBuf,
    /// Where the current project is.
    project: PathBuf,
    /// Whether variables of the environment name other places.
    uses_variables: bool,
    /// Where files elsewhere are noted that were written to: a line for each, its client before its path.
    pub(super) record: Option<PathBuf>,
}

impl ClientPlaces {
    /// The usual places below a home folder, and those of the project in which a folder lies.
    pub fn new(home: &Path, folder: &Path) -> Self {
        Self {
            home: home.to_owned(),
            config: home.join(".config"),
            project: project_of(folder, home),
            uses_variables: false,
            record: None,
        }
    }

    /// Those of the person who runs this program; nothing where there is no home folder.
    pub fn of_process() -> Option<Self> {
        let home = env::home_dir().filter(|home| !home.as_os_str().is_empty())?;
        let folder = env::current_dir().unwrap_or_else(|_| PathBuf::from("/"));
        let usual = Self::new(&home, &folder);
        Some(Self {
            config: named_by("XDG_CONFIG_HOME").unwrap_or(usual.config),
            uses_variables: true,
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
        for file in Client::all().flat_map(|client| self.files_of(client)) {
            // In the home folder the files of the project are those of the person.
            if all.iter().all(|known| known.path != file.path) {
                all.push(file);
            }
        }
        all
    }

    /// The files of one client, those of the person before those of the project. The first of either is the one that is made where none
    /// is there.
    pub fn files_of(&self, client: Client) -> Vec<ClientFile> {
        let files = client.0.files.iter();
        let user = files.flat_map(|(folder, file)| {
            let folders = self.folders(folder).into_iter();
            folders.map(move |folder| match *file {
                "" => folder,
                file => folder.join(file),
            })
        });
        let user = user.map(|path| ClientFile::new(Some(client), None, path));
        let project = client.0.project_files.iter().map(|file| {
            let folder = Some(self.project.clone());
            ClientFile::new(Some(client), folder, self.project.join(file))
        });
        user.chain(project).collect()
    }

    /// The folder; of those that it may be, the one of this platform first.
    fn folders(&self, folder: &Folder) -> Vec<PathBuf> {
        match folder {
            Folder::Home => vec![self.home.clone()],
            Folder::Config => vec![self.config.clone()],
            Folder::Applications => {
                let library = self.home.join("Library/Application Support");
                let mut both = vec![self.config.clone(), library];
                if cfg!(target_os = "macos") {
                    both.reverse();
                }
                both
            }
            Folder::Variable(name, usual) => {
                let named = named_by(name).filter(|_| self.uses_variables);
                let usual = usual.map(|folder| self.home.join(folder));
                named.or(usual).into_iter().collect()
            }
        }
    }

    /// The file into which we are put: of those that are there the first, else the one that is made. Nothing where the client has none
    /// of that kind.
    pub fn file_to_connect(&self, client: Client, is_for_project: bool) -> Option<ClientFile> {
        let mut files = self.files_of(client);
        files.retain(|file| {
            let mut read_only = client.0.read_only.iter();
            file.project().is_some() == is_for_project
                && !read_only.any(|name| file.path.ends_with(name))
        });
        let there = files.iter().find(|file| file.path.exists());
        let found = there.or(files.first()).cloned();
        found.filter(|_| client.can_connect())
    }

    /// Whether it is a file of the person that is found with no variable set, wherever one stands.
    pub(super) fn is_usual(&self, path: &Path) -> bool {
        let usual = Self::new(&self.home, &self.home).files();
        let mut usual = usual.iter().filter(|file| file.project().is_none());
        usual.any(|file| file.path == path)
    }

    /// Whether there are signs of a client: a file of it, or the folder in which it keeps that.
    pub fn is_present(&self, client: Client) -> bool {
        let files = self.files_of(client);
        let mut files = files.iter().filter(|file| file.project().is_none());
        let sign = client.0.sign.map(|sign| self.home.join(sign));
        // An empty folder may be left of a connection that was undone.
        let is_used = |folder: &Path| {
            let found = fs::read_dir(folder);
            found.is_ok_and(|mut found| found.next().is_some())
        };
        files.any(|file| {
            let folder = file.path.parent().filter(|folder| **folder != *self.home);
            file.path.exists() || folder.is_some_and(is_used)
        }) || sign.is_some_and(|sign| is_used(&sign))
    }

    /// The file at a path that a person named: a known one, else one that is known by how the path ends.
    pub fn named(&self, path: &Path) -> ClientFile {
        let known = self.files().into_iter().find(|file| file.path == path);
        known.unwrap_or_else(|| by_ending(path))
    }
}

/// The absolute path in a variable of the environment.
fn named_by(variable: &str) -> Option<PathBuf> {
    let path = env::var_os(variable).map(PathBuf::from);
    path.filter(|path| path.is_absolute())
}

/// A file that is known only by how its path ends: the client, and the project if it lies like a file of one.
fn by_ending(path: &Path) -> ClientFile {
    // The longest counts: `.warp/.mcp.json` also ends as a file of Claude Code.
    let of_client = |client: Client| client.endings().map(move |end| (end, client));
    let all = Client::all().flat_map(of_client);
    let fitting = all.filter(|(end, _)| path.ends_with(end));
    let client = fitting.max_by_key(|(end, _)| end.len());
    let client = client.map(|(_, client)| client);
    let in_projects = Client::all().flat_map(|client| client.0.project_files);
    let in_project = in_projects.filter(|file| path.ends_with(file));
    let in_project = in_project.max_by_key(|file| file.len());
    let project = in_project.filter(|_| path.is_absolute()).and_then(|file| {
        let depth = Path::new(file).components().count();
        path.ancestors().nth(depth)
    });
    ClientFile::new(client, project.map(Path::to_owned), path.to_owned())
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

    use super::{Client, ClientFile, ClientPlaces};

    #[test]
    fn every_client_has_its_files_and_none_stands_there_twice() {
        let places = ClientPlaces::new(Path::new("/home/ada"), Path::new("/home/ada/work"));
        let files = places.files();
        for client in Client::all() {
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
        assert_eq!(cursor.next().map(ClientFile::project), Some(None));
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
    fn an_empty_folder_is_no_sign_of_a_client() {
        let home = tempfile::tempdir().expect("a folder");
        let places = ClientPlaces::new(home.path(), home.path());
        let codex = Client::from_word("codex").expect("a client");
        fs::create_dir(home.path().join(".codex")).expect("ours");
        assert!(!places.is_present(codex));
        fs::write(home.path().join(".codex/auth.json"), "{}").expect("ours");
        assert!(places.is_present(codex));
    }

    #[test]
    fn a_file_that_is_named_is_known_by_its_name() {
        let places = ClientPlaces::new(Path::new("/home/ada"), Path::new("/work"));
        let check = |path: &str, client: Option<&str>, project: Option<&str>| {
            let named = places.named(Path::new(path));
            let expected = (client.and_then(Client::from_word), project.map(Path::new));
            assert_eq!((named.client, named.project()), expected, "{path}");
        };
        check("/home/ada/.cursor/mcp.json", Some("cursor"), None);
        check("/p/.cursor/mcp.json", Some("cursor"), Some("/p"));
        check("/p/.vscode/mcp.json", Some("vscode"), Some("/p"));
        check("/x/opencode.jsonc", Some("opencode"), Some("/x"));
        check("/x/.warp/.mcp.json", Some("warp"), Some("/x"));
        check("/x/.magg/config.json", Some("magg"), Some("/x"));
        check(
            "/x/claude_desktop_config.json",
            Some("claude-desktop"),
            None,
        );
        // What stands in them tells.
        check("/x/config.toml", None, None);
        check("/x/what.json", None, None);
    }
}
