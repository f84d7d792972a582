//! The container of a stdio server, and the arguments of `docker run` for it. `resolve` makes it from the entry, and `process` starts it.

use std::fmt;

use serde_json::{Value, json};

use super::document::present;

/// The container of a stdio server.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Isolation {
    /// The image.
    pub image: String,
    /// The program that runs in it.
    pub command: String,
    /// `--network`.
    pub network_mode: Option<String>,
    /// Additional arguments of `docker run`. They may contain secrets: listings have an `Isolation` with masked ones.
    pub extra_args: Vec<String>,
    /// The folder within the container.
    pub working_dir: Option<String>,
}

/// Shows only the number of arguments, because they may contain credentials.
impl fmt::Debug for Isolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Isolation")
            .field("image", &self.image)
            .field("extra_args", &self.extra_args.len())
            .finish_non_exhaustive()
    }
}

/// The name and the label by which a container is found again.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Named {
    /// Its name.
    pub name: String,
    /// Its label, `KEY=VALUE`.
    pub label: String,
}

impl Isolation {
    /// The arguments of `docker run` or `podman run`. They have only the names of variables: docker reads the values from its own
    /// environment, which other users of the machine cannot read.
    pub fn run_arguments(&self, named: &Named, variables: &[&str], args: &[String]) -> Vec<String> {
        let mut all: Vec<&str> = vec!["run", "--rm", "-i"];
        all.extend(["--name", &named.name, "--label", &named.label]);
        if let Some(mode) = &self.network_mode {
            all.extend(["--network", mode]);
        }
        if let Some(folder) = &self.working_dir {
            all.extend(["--workdir", folder]);
        }
        for name in variables.iter().filter(|name| is_name_for_containers(name)) {
            all.extend(["-e", name]);
        }
        all.extend(self.extra_args.iter().map(String::as_str));
        all.extend([self.image.as_str(), &self.command]);
        all.extend(args.iter().map(String::as_str));
        all.into_iter().map(str::to_owned).collect()
    }

    /// The container as JSON, with the keys of `isolation`.
    pub(super) fn as_json(&self) -> Value {
        let extra_args = Some(&self.extra_args).filter(|args| !args.is_empty());
        let keys = json!({
            "enabled": true,
            "image": self.image,
            "network_mode": self.network_mode,
            "extra_args": extra_args,
            "working_dir": self.working_dir,
        });
        present(keys).into()
    }
}

/// The name of a command's program, without its folder and extension.
pub(super) fn program_name(command: &str) -> &str {
    let program = command.rsplit(['/', '\\']).next().unwrap_or_default();
    program.split('.').next().unwrap_or_default()
}

/// Whether a variable with this name can be passed with `-e NAME`: docker would read other names as patterns or options.
pub(super) fn is_name_for_containers(name: &str) -> bool {
    !name.starts_with(|c: char| c.is_ascii_digit())
        && !name.is_empty()
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}
