//! The environment that children start with: a safe list of ours, the login shell's `PATH`, and what the settings say. Nothing
//! of it is read at call time: a change of the settings builds a new one.

use std::{
    collections::BTreeMap,
    env,
    ffi::{OsStr, OsString},
    fmt,
    path::PathBuf,
};

use crate::secret::Secret;

/// What every child may see of our environment. None of these holds a credential by custom; proxy addresses are the exception
/// that nothing works without. `*` stands for any characters.
const SAFE: &[&str] = &[
    // Who and where.
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "TERM",
    "TZ",
    "LANG",
    "LANGUAGE",
    "LC_*",
    "XDG_*",
    "TMPDIR",
    "TMP",
    "TEMP",
    // The way out, and whom to trust there.
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "no_proxy",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    // Browsers need the screen, `docker run` its daemon.
    "DISPLAY",
    "WAYLAND_DISPLAY",
    "XAUTHORITY",
    "DBUS_SESSION_BUS_ADDRESS",
    "DOCKER_HOST",
    "DOCKER_CONTEXT",
    "DOCKER_CONFIG",
];

/// The same for Windows, where names are compared without case.
const SAFE_ON_WINDOWS: &[&str] = &[
    "SystemRoot",
    "SystemDrive",
    "windir",
    "ComSpec",
    "PATHEXT",
    "APPDATA",
    "LOCALAPPDATA",
    "ProgramData",
    "ProgramFiles*",
    "CommonProgramFiles*",
    "ProgramW6432",
    "USERPROFILE",
    "USERNAME",
    "USERDOMAIN",
    "HOMEDRIVE",
    "HOMEPATH",
    "PUBLIC",
    "OS",
    "PROCESSOR_ARCHITECTURE",
    "NUMBER_OF_PROCESSORS",
];

/// Ours or our service manager's, never inherited, whatever the settings: they hold our keys, or would let a child speak to the
/// service manager in our name.
const OURS: &[&str] = &[
    "MCPPROXY_*",
    "NOTIFY_SOCKET",
    "WATCHDOG_*",
    "LISTEN_FDS",
    "LISTEN_PID",
    "LISTEN_FDNAMES",
];

/// Folders of programs below the home folder, of tools that people start servers with.
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

/// What the settings say about the children's environment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EnvironmentSettings {
    /// Children see everything that we see, except what is ours alone.
    pub inherit_all: bool,
    /// Names beyond the safe list; `*` stands for any characters.
    pub extra_names: Vec<String>,
    /// Set for every child. A `PATH` here replaces the one that we find.
    pub set: Vec<(String, Secret)>,
}

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
    pub fn new(settings: &EnvironmentSettings, login_path: Option<&OsStr>) -> Self {
        let home = env::home_dir();
        let known = home
            .iter()
            .flat_map(|home| IN_HOME.iter().map(|folder| home.join(folder)))
            .chain(ON_MACHINE.iter().map(PathBuf::from))
            .filter(|folder| folder.is_dir());
        Self::from_parts(settings, env::vars_os(), login_path, known)
    }

    fn from_parts(
        settings: &EnvironmentSettings,
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
            set: settings.set.clone(),
        }
    }

    /// The `PATH` that commands are searched on, unless a server's own entry sets one.
    pub fn path(&self) -> OsString {
        let mut all = self.for_child(&[]);
        all.remove(OsStr::new("PATH")).unwrap_or_default()
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

fn inherits(settings: &EnvironmentSettings, name: &OsStr, value: &OsStr) -> bool {
    let listed = |list: &[&str]| list.iter().any(|pattern| matches(pattern, name));
    // A shell function that bash exported: some shells run what is in it.
    let is_function = value.as_encoded_bytes().starts_with(b"()");
    let wanted = settings.inherit_all
        || listed(SAFE)
        || cfg!(windows) && listed(SAFE_ON_WINDOWS)
        || settings
            .extra_names
            .iter()
            .any(|pattern| matches(pattern, name));
    wanted && !is_function && !listed(OURS)
}

/// Whether the name matches the pattern, in which `*` stands for any characters. Names on Windows have no case.
fn matches(pattern: &str, name: &OsStr) -> bool {
    let mut name = name.as_encoded_bytes().to_vec();
    let mut pattern = pattern.as_bytes().to_vec();
    if cfg!(windows) {
        name.make_ascii_uppercase();
        pattern.make_ascii_uppercase();
    }
    let mut parts = pattern.split(|byte| *byte == b'*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = name.strip_prefix(first) else {
        return false;
    };
    let Some(last) = parts.next_back() else {
        return rest.is_empty();
    };
    for part in parts.filter(|part| !part.is_empty()) {
        let Some(at) = memchr::memmem::find(rest, part) else {
            return false;
        };
        rest = rest.get(at + part.len()..).unwrap_or_default();
    }
    rest.ends_with(last)
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

    use super::{BaseEnvironment, EnvironmentSettings, matches};
    use crate::secret::Secret;

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

    fn base(settings: &EnvironmentSettings, login: Option<&str>) -> BaseEnvironment {
        let ours = OURS
            .into_iter()
            .map(|(name, value)| (name.into(), value.into()));
        let known = ["/usr/bin".into(), "/known".into()].into_iter();
        BaseEnvironment::from_parts(settings, ours, login.map(OsStr::new), known)
    }

    fn check(settings: &EnvironmentSettings, expected: &[&str]) {
        let all = base(settings, None).for_child(&[]);
        let names: Vec<&str> = all
            .keys()
            .map(|name| name.to_str().expect("ascii"))
            .collect();
        assert_eq!(names, expected);
    }

    #[test]
    fn children_inherit_the_safe_list_and_what_the_settings_add() {
        let mut settings = EnvironmentSettings::default();
        check(&settings, &["HOME", "HTTPS_PROXY", "LC_TIME", "PATH"]);
        settings.extra_names = vec!["SSH_*".into(), "MCPPROXY_*".into()];
        check(
            &settings,
            &["HOME", "HTTPS_PROXY", "LC_TIME", "PATH", "SSH_AUTH_SOCK"],
        );
        settings.inherit_all = true;
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
        let settings = EnvironmentSettings::default();
        let path = |login| base(&settings, login).path().into_string().expect("ascii");
        assert_eq!(
            path(Some("/login:/usr/bin:/login")),
            "/login:/usr/bin:/ours:/known"
        );
        assert_eq!(path(None), "/ours:/usr/bin:/known");
    }

    #[test]
    fn a_servers_own_value_wins_over_the_settings_and_those_over_ours() {
        let settings = EnvironmentSettings {
            set: vec![
                ("HOME".into(), Secret::new("/settings")),
                ("PATH".into(), Secret::new("/only")),
            ],
            ..Default::default()
        };
        let base = base(&settings, Some("/login"));
        let child = base.for_child(&[("HOME".into(), Secret::new("/server"))]);
        let get = |name: &str| child.get(OsStr::new(name)).map(OsString::as_os_str);
        assert_eq!(get("HOME"), Some(OsStr::new("/server")));
        assert_eq!(get("PATH"), Some(OsStr::new("/only")));
        assert!(!format!("{base:?}").contains("/settings"));
    }

    #[test]
    fn patterns_match_whole_names() {
        for (pattern, name, expected) in [
            ("HOME", "HOME", true),
            ("HOME", "HOMES", false),
            ("LC_*", "LC_", true),
            ("LC_*", "ALC_X", false),
            ("*_KEY", "A_KEY", true),
            ("*_KEY", "A_KEYS", false),
            ("A*B*C", "AxBxBxC", true),
            ("A*A", "A", false),
            ("*", "", true),
            ("", "A", false),
        ] {
            assert_eq!(
                matches(pattern, OsStr::new(name)),
                expected,
                "{pattern} {name}"
            );
        }
    }
}
