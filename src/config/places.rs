//! The places of the configuration file and the data folder.

use std::path::{Path, PathBuf};

use directories::{BaseDirs, ProjectDirs};

use super::{references::VariableLookup, settings::Settings};

/// The file's name in the platform's folder.
const FILE_NAME: &str = "mcp_config.json";

/// The most bytes of a socket's path: the system's field for it, without the null byte at its end.
pub const LONGEST_SOCKET_PATH: usize = if cfg!(target_os = "linux") { 107 } else { 103 };

/// The places, chosen once at the start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Places {
    /// The configuration file. It need not exist.
    pub config_file: PathBuf,
    /// The data folder, unless the file names another: see [`Places::data_folder`].
    pub data_dir: PathBuf,
    /// Whether `data_dir` was given on the command line, which overrides the file.
    pub data_dir_given: bool,
    /// What chose the file.
    pub chosen_by: ChosenBy,
}

/// What chose the configuration file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChosenBy {
    /// `--config`.
    Flag,
    /// `$MCPPROXY_CONFIG`.
    Variable,
    /// `$MCP_CONFIG_PATH`.
    OldVariable,
    /// The platform's configuration folder.
    Platform,
    /// The folder of mcpproxy-go.
    GoProgram,
}

/// The places that the command line names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RequestedPlaces {
    /// `--config`.
    pub config_file: Option<PathBuf>,
    /// `--data-dir`.
    pub data_dir: Option<PathBuf>,
}

/// No place can be chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("your home folder is unknown")]
pub struct NoHome;

/// The platform's folders for mcpproxy.
#[derive(Debug, Clone)]
struct Folders {
    config: PathBuf,
    data: PathBuf,
    home: PathBuf,
}

impl Places {
    /// Chooses the file: `--config`, `$MCPPROXY_CONFIG`, `$MCP_CONFIG_PATH`, an existing file in the platform's configuration folder, an
    /// existing `~/.mcpproxy/mcp_config.json`, a new file in the platform's folder.
    pub fn find(requested: &RequestedPlaces, lookup: VariableLookup<'_>) -> Result<Self, NoHome> {
        let folders = ProjectDirs::from("", "", "mcpproxy")
            .zip(BaseDirs::new())
            .map(|(ours, base)| Folders {
                config: ours.config_dir().to_owned(),
                data: ours.data_local_dir().to_owned(),
                home: base.home_dir().to_owned(),
            });
        choose(requested, lookup, folders.as_ref(), &|file| file.exists())
    }

    /// The data folder with these settings: `--data-dir`, else the key `data_dir`, else the platform's.
    pub fn data_folder<'a>(&'a self, settings: &'a Settings) -> &'a Path {
        match &settings.data_dir {
            Some(folder) if !self.data_dir_given => folder,
            _ => &self.data_dir,
        }
    }

    /// The option or variable that names the file, unless it is in its usual place.
    pub fn requested_by(&self) -> Option<&'static str> {
        (!self.is_file_usual()).then(|| self.chosen_by.as_str())
    }

    /// Whether a daemon with another data folder may use the same file.
    pub fn shares_file(&self) -> bool {
        self.is_file_usual() && self.data_dir_given
    }

    fn is_file_usual(&self) -> bool {
        matches!(self.chosen_by, ChosenBy::Platform | ChosenBy::GoProgram)
    }
}

impl ChosenBy {
    /// In words, for `config path`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Flag => "--config",
            Self::Variable => "$MCPPROXY_CONFIG",
            Self::OldVariable => "$MCP_CONFIG_PATH",
            Self::Platform => "the platform's configuration folder",
            Self::GoProgram => "an existing file of mcpproxy-go",
        }
    }
}

fn choose(
    requested: &RequestedPlaces,
    lookup: VariableLookup<'_>,
    folders: Option<&Folders>,
    exists: &dyn Fn(&Path) -> bool,
) -> Result<Places, NoHome> {
    let variable = |name| {
        lookup(name)
            .filter(|path| !path.is_empty())
            .map(PathBuf::from)
    };
    let (config_file, chosen_by) = if let Some(file) = &requested.config_file {
        (file.clone(), ChosenBy::Flag)
    } else if let Some(file) = variable("MCPPROXY_CONFIG") {
        (file, ChosenBy::Variable)
    } else if let Some(file) = variable("MCP_CONFIG_PATH") {
        (file, ChosenBy::OldVariable)
    } else {
        let folders = folders.ok_or(NoHome)?;
        let ours = folders.config.join(FILE_NAME);
        let go_program = folders.home.join(".mcpproxy").join(FILE_NAME);
        if !exists(&ours) && exists(&go_program) {
            (go_program, ChosenBy::GoProgram)
        } else {
            (ours, ChosenBy::Platform)
        }
    };
    // Services and daemons in the background name the usual place on their command lines.
    let usual = folders.map(|folders| folders.config.join(FILE_NAME));
    let chosen_by = if usual.as_ref() == Some(&config_file) {
        ChosenBy::Platform
    } else {
        chosen_by
    };
    let data_dir = match (&requested.data_dir, folders) {
        (Some(folder), _) => folder.clone(),
        (None, Some(folders)) => folders.data.clone(),
        (None, None) => return Err(NoHome),
    };
    Ok(Places {
        config_file: absolute(config_file),
        data_dir: absolute(data_dir),
        data_dir_given: requested.data_dir.is_some(),
        chosen_by,
    })
}

/// Makes a path absolute, because the working folder may change or be removed.
fn absolute(path: PathBuf) -> PathBuf {
    std::path::absolute(&path).unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_found_in_the_promised_order() {
        let folders = Folders {
            config: "/c".into(),
            data: "/d".into(),
            home: "/h".into(),
        };
        let check =
            |flag: Option<&str>, variables: &[&str], files: &[&str], expected: &str, chosen_by| {
                let asked = RequestedPlaces {
                    config_file: flag.map(PathBuf::from),
                    data_dir: None,
                };
                let lookup = |name: &str| variables.contains(&name).then(|| format!("/{name}"));
                let exists = |file: &Path| files.iter().any(|known| file == Path::new(known));
                let places = choose(&asked, &lookup, Some(&folders), &exists).expect("a place");
                assert_eq!(places.config_file, Path::new(expected));
                assert_eq!(places.chosen_by, chosen_by);
                assert_eq!(places.data_dir, Path::new("/d"));
            };
        let both = ["MCPPROXY_CONFIG", "MCP_CONFIG_PATH"];
        let ours = "/c/mcp_config.json";
        let go_program = "/h/.mcpproxy/mcp_config.json";
        check(Some("/f"), &both, &[], "/f", ChosenBy::Flag);
        check(Some(ours), &both, &[], ours, ChosenBy::Platform);
        check(None, &both, &[], "/MCPPROXY_CONFIG", ChosenBy::Variable);
        check(
            None,
            &both[1..],
            &[ours],
            "/MCP_CONFIG_PATH",
            ChosenBy::OldVariable,
        );
        check(None, &[], &[ours, go_program], ours, ChosenBy::Platform);
        check(None, &[], &[go_program], go_program, ChosenBy::GoProgram);
        check(None, &[], &[], ours, ChosenBy::Platform);
    }

    #[test]
    fn the_command_line_chooses_the_data_folder_before_the_file() {
        let find = |data_dir: Option<&str>| {
            let asked = RequestedPlaces {
                config_file: Some("/f".into()),
                data_dir: data_dir.map(PathBuf::from),
            };
            choose(&asked, &|_| None, None, &|_| false)
        };
        let settings = Settings {
            data_dir: Some("/of-file".into()),
            ..Settings::default()
        };
        let given = find(Some("/given")).expect("a place");
        assert_eq!(given.data_folder(&settings), Path::new("/given"));
        let not_given = Places {
            data_dir_given: false,
            ..given
        };
        assert_eq!(not_given.data_folder(&settings), Path::new("/of-file"));
        assert_eq!(
            not_given.data_folder(&Settings::default()),
            Path::new("/given")
        );
        assert_eq!(find(None), Err(NoHome));
    }
}
