//! The `PATH` on which commands of servers are found: the login shell's before ours.

use std::{env, ffi::OsStr, path::PathBuf};

use super::DoctorFinding;
use crate::process::BaseEnvironment;

const PATH: &str = "path";

/// How the `PATH` came about that children get.
pub(super) fn check(
    base: &BaseEnvironment,
    login: Option<&OsStr>,
    has_shell: bool,
    has_terminal: bool,
) -> DoctorFinding {
    let ours = env::var_os("PATH").unwrap_or_default();
    let children = base.path();
    let place = children.to_string_lossy();
    if has_terminal {
        let what = "servers get this terminal's PATH; a service asks your login shell for its own";
        return DoctorFinding::ok(PATH, what).at(place);
    }
    match login {
        None if has_shell => DoctorFinding::warn(
            PATH,
            "the login shell did not tell its PATH within 5 s, so commands are searched on ours",
            "look what your shell's start-up files wait for, or set PATH in \"environment\" of the configuration",
        )
        .at(place),
        None => DoctorFinding::warn(
            PATH,
            "$SHELL is not set, so commands are searched on our own PATH",
            "set $SHELL where the daemon is started, or PATH in \"environment\" of the configuration",
        )
        .at(place),
        Some(login) => {
            let added = missing(login, &ours);
            let what = match added.len() {
                0 => "the login shell's PATH is ours".to_owned(),
                1 => format!("the login shell's PATH adds {}", added[0].display()),
                n => format!("the login shell's PATH adds {n} folders, such as {}", added[0].display()),
            };
            DoctorFinding::ok(PATH, what).at(place)
        }
    }
}

/// The folders of one that the other lacks.
fn missing(of: &OsStr, from: &OsStr) -> Vec<PathBuf> {
    let known: Vec<PathBuf> = env::split_paths(from).collect();
    env::split_paths(of)
        .filter(|folder| !known.contains(folder))
        .collect()
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::check;
    use crate::{config::Environment, doctor::DoctorSeverity, process::BaseEnvironment};

    #[test]
    fn it_is_said_where_the_path_comes_from() {
        let of = |login: Option<&str>, has_shell, has_terminal| {
            let login = login.map(OsStr::new);
            let base = BaseEnvironment::new(&Environment::default(), login);
            check(&base, login, has_shell, has_terminal)
        };
        let found = of(Some("/only/at/login:/bin"), true, false);
        assert_eq!(found.severity, DoctorSeverity::Ok);
        assert!(found.what.contains("/only/at/login"), "{found:?}");
        let place = found.place.expect("the PATH");
        assert!(place.starts_with("/only/at/login:"), "{place}");
        assert_eq!(of(None, true, false).severity, DoctorSeverity::Warn);
        assert_eq!(of(None, false, false).severity, DoctorSeverity::Warn);
        assert_eq!(of(None, true, true).severity, DoctorSeverity::Ok);
    }
}
