//! The environment that children start with: the variables of the daemon that are safe to inherit, the login shell's `PATH`, and the
//! variables of the settings. Built anew from the settings for each start.

use std::{
    collections::BTreeMap,
    env,
    ffi::{OsStr, OsString},
    fmt,
    path::PathBuf,
};

use crate::{config::Environment, text::secret::Secret};

/// Variables that no child inherits, whatever the settings say: they hold the daemon's keys, or would let a child speak to the service
/// manager in its name.
const OURS: &[&str] = &[
    "NOTIFY_SOCKET",
    "LISTEN_FDS",
    "LISTEN_PID",
    "LISTEN_FDNAMES",
];

/// The same, by the beginnings of their names.
const OUR_FAMILIES: &[&str] = &["MCPPROXY_", "WATCHDOG_"];

/// Folders of programs below the home folder, by tools with which people install servers.
const IN_HOME: &[&str] = &[
    ".local/bin",
    ".cargo/bin",
    ".bun/bin",
    ".deno/bin",
    ".volta/bin",
    ".local/share/mise/shims",
    ".asdf/shims",
    ".nix-profile/bin",
    "go/bin",
];

/// Folders of programs of the machine.
const ON_MACHINE: &[&str] = &[
    "/opt/homebrew/bin",
    "/home/linuxbrew/.linuxbrew/bin",
    "/usr/local/bin",
    "/nix/var/nix/profiles/default/bin",
    "/run/current-system/sw/bin",
    "/opt/local/bin",
    "/snap/bin",
    "/usr/bin",
    "/bin",
];

/// The environment of every child, before what its own entry sets.
#[derive(Clone)]
pub struct BaseEnvironment {
    inherited: BTreeMap<OsString, OsString>,
    set: Vec<(String, Secret)>,
}

/// Values may be credentials, so only names show.
impl fmt::Debug for BaseEnvironment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.inherited.keys().map(|name| name.to_string_lossy());
        f.debug_list()
            .entries(names)
            .entries(self.set.iter().map(|(name, _)| name))
            .finish()
    }
}

impl BaseEnvironment {
    /// Built from this process's environment and the login shell's `PATH`, if that is known.
    pub fn new(settings: &Environment, login_path: Option<&OsStr>) -> Self {
        let home = env::home_dir();
        let known = home
            .iter()
            .flat_map(|home| IN_HOME.iter().map(|folder| home.join(folder)))
            .chain(ON_MACHINE.iter().map(PathBuf::from))
            .filter(|folder| folder.is_dir());
        Self::from_parts(settings, env::vars_os(), login_path, known)
    }

    fn from_parts(
        settings: &Environment,
        ours: impl Iterator<Item = (OsString, OsString)>,
        login_path: Option<&OsStr>,
        known_folders: impl Iterator<Item = PathBuf>,
    ) -> Self {
        let ours: BTreeMap<OsString, OsString> = ours.collect();
        let our_path = ours.iter().find(|(name, _)| is_path(name));
        let path = merge_paths(login_path, our_path.map(|(_, path)| &**path), known_folders);
        let mut inherited: BTreeMap<OsString, OsString> = ours
            .into_iter()
            .filter(|(name, value)| !is_path(name) && inherits(settings, name, value))
            .collect();
        inherited.insert("PATH".into(), path);
        Self {
            inherited,
            set: settings.set.clone().into_iter().collect(),
        }
    }

    /// The `PATH` that commands are searched on, unless a server's own entry sets one.
    pub fn path(&self) -> OsString {
        let mut all = self.for_child(&[]);
        all.remove(OsStr::new("PATH")).unwrap_or_default()
    }

    /// The variables of the settings that containers get too. Those that name folders of this machine mean nothing in a container.
    pub(super) fn set_for_containers(&self) -> impl Iterator<Item = &str> {
        let names = self.set.iter().map(|(name, _)| name.as_str());
        names.filter(|name| !is_path(OsStr::new(name)) && *name != "HOME")
    }

    /// Everything that one child starts with.
    pub(super) fn for_child(&self, own: &[(String, Secret)]) -> BTreeMap<OsString, OsString> {
        let mut all = self.inherited.clone();
        for (name, value) in self.set.iter().chain(own) {
            let name = if is_path(OsStr::new(name)) {
                "PATH"
            } else {
                name
            };
            all.insert(name.into(), value.reveal().into());
        }
        all
    }
}

/// Windows writes it `Path`.
fn is_path(name: &OsStr) -> bool {
    name == "PATH" || cfg!(windows) && name.eq_ignore_ascii_case("PATH")
}

fn inherits(settings: &Environment, name: &OsStr, value: &OsStr) -> bool {
    // A shell function that bash exported: some shells run what is in it.
    let is_function = value.as_encoded_bytes().starts_with(b"()");
    let name = name.to_string_lossy();
    let is_ours =
        OURS.contains(&&*name) || OUR_FAMILIES.iter().any(|family| name.starts_with(family));
    settings.inherits(&name) && !is_function && !is_ours
}

/// The login shell's `PATH`, then ours, then well-known folders, each folder once. The login shell's comes first, because that
/// is where a person finds the program that he typed into the configuration.
fn merge_paths(
    login: Option<&OsStr>,
    ours: Option<&OsStr>,
    known_folders: impl Iterator<Item = PathBuf>,
) -> OsString {
    let mut folders: Vec<PathBuf> = Vec::new();
    let given = login.into_iter().chain(ours).flat_map(env::split_paths);
    for folder in given.chain(known_folders) {
        // An empty or relative one would mean the child's own folder, which may be anybody's.
        if folder.is_absolute() && !folders.contains(&folder) {
            folders.push(folder);
        }
    }
    env::join_paths(folders).unwrap_or_else(|_| ours.unwrap_or_default().to_owned())
}

#[cfg(test)]
mod tests {
    use std::ffi::{OsStr, OsString};

    use super::BaseEnvironment;
    use crate::{
        config::{Environment, Globs, Inherit},
        text::secret::Secret,
    };

    const OURS: [(&str, &str); 9] = [
        ("PATH", "/ours:/usr/bin:relative:"),
        ("HOME", "/home/ada"),
        ("LC_TIME", "C"),
        ("AWS_SECRET_ACCESS_KEY", "wJalr"),
        ("SSH_AUTH_SOCK", "/tmp/agent"),
        ("MCPPROXY_SESSION_KEY", "k"),
        ("NOTIFY_SOCKET", "/run/systemd/notify"),
        ("XDG_FUNCTION", "() { evil; }"),
        ("HTTPS_PROXY", "http://proxy"),
    ];

    fn base(settings: &Environment, login: Option<&str>) -> BaseEnvironment {
        let ours = OURS
            .into_iter()
            .map(|(name, value)| (name.into(), value.into()));
        let known = ["/usr/bin".into(), "/known".into()].into_iter();
        BaseEnvironment::from_parts(settings, ours, login.map(OsStr::new), known)
    }

    fn check(settings: &Environment, expected: &[&str]) {
        let all = base(settings, None).for_child(&[]);
        let names: Vec<&str> = all
            .keys()
            .map(|name| name.to_str().expect("ascii"))
            .collect();
        assert_eq!(names, expected);
    }

    #[test]
    fn children_inherit_the_safe_list_and_what_the_settings_add() {
        let mut settings = Environment::default();
        check(&settings, &["HOME", "HTTPS_PROXY", "LC_TIME", "PATH"]);
        let also = vec!["SSH_*".to_owned(), "MCPPROXY_*".to_owned()];
        settings.inherit = Inherit::Safe {
            also: Globs::new(also).expect("good globs"),
        };
        check(
            &settings,
            &["HOME", "HTTPS_PROXY", "LC_TIME", "PATH", "SSH_AUTH_SOCK"],
        );
        settings.inherit = Inherit::All;
        check(
            &settings,
            &[
                "AWS_SECRET_ACCESS_KEY",
                "HOME",
                "HTTPS_PROXY",
                "LC_TIME",
                "PATH",
                "SSH_AUTH_SOCK",
            ],
        );
    }

    #[test]
    fn the_login_shells_path_comes_first_and_each_folder_once() {
        let settings = Environment::default();
        let path = |login| base(&settings, login).path().into_string().expect("ascii");
        assert_eq!(
            path(Some("/login:/usr/bin:/login")),
            "/login:/usr/bin:/ours:/known"
        );
        assert_eq!(path(None), "/ours:/usr/bin:/known");
    }

    #[test]
    fn a_servers_own_value_wins_over_the_settings_and_those_over_ours() {
        let settings = Environment {
            set: [
                ("HOME".into(), Secret::new("/settings")),
                ("PATH".into(), Secret::new("/only")),
            ]
            .into(),
            ..Default::default()
        };
        let base = base(&settings, Some("/login"));
        let child = base.for_child(&[("HOME".into(), Secret::new("/server"))]);
        let get = |name: &str| child.get(OsStr::new(name)).map(OsString::as_os_str);
        assert_eq!(get("HOME"), Some(OsStr::new("/server")));
        assert_eq!(get("PATH"), Some(OsStr::new("/only")));
        assert!(!format!("{base:?}").contains("/settings"));
    }
}
