//! Which service manager this machine has, and where the files of services belong.

use std::{
    env,
    path::{Path, PathBuf},
};

use super::{launchd, systemd};

/// A service manager.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum ServiceKind {
    /// The user manager of systemd
    Systemd,
    /// launchd of macOS
    Launchd,
}

/// What was found of service managers.
struct Signs {
    is_macos: bool,
    /// A `systemctl` on `PATH`.
    has_systemctl: bool,
    /// The system was started by systemd.
    is_booted: bool,
}

impl Signs {
    fn kind(&self) -> Result<ServiceKind, String> {
        if self.is_macos {
            return Ok(ServiceKind::Launchd);
        }
        if self.has_systemctl || self.is_booted {
            return Ok(ServiceKind::Systemd);
        }
        Err("neither systemd nor launchd was found on this machine: there is no `systemctl` on PATH and no /run/systemd/system; \
             have whatever starts programs here run `mcpproxy serve`"
            .to_owned())
    }
}

/// The service manager of this machine, or why there is none.
pub(super) fn present() -> Result<ServiceKind, String> {
    let signs = Signs {
        is_macos: cfg!(target_os = "macos"),
        has_systemctl: is_on_path("systemctl"),
        is_booted: Path::new("/run/systemd/system").is_dir(),
    };
    signs.kind()
}

fn is_on_path(program: &str) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

/// Where the file of our service belongs.
pub(super) fn file(kind: ServiceKind) -> Result<PathBuf, String> {
    let home = env::home_dir().filter(|home| home.is_absolute());
    let home = home.ok_or("no home folder is known: set $HOME")?;
    Ok(match kind {
        ServiceKind::Systemd => {
            let folder = env::var_os("XDG_CONFIG_HOME").map(PathBuf::from);
            let folder = folder.filter(|folder| folder.is_absolute());
            let folder = folder.unwrap_or_else(|| home.join(".config"));
            folder.join("systemd").join("user").join(systemd::UNIT)
        }
        ServiceKind::Launchd => {
            let folder = home.join("Library").join("LaunchAgents");
            folder.join(format!("{}.plist", launchd::LABEL))
        }
    })
}

/// Whether services of this person go on after the last logout; nothing where that cannot be told.
pub(super) fn lingers() -> Option<bool> {
    let folder = Path::new("/var/lib/systemd/linger");
    let user = env::var_os("USER")?;
    Path::new("/var/lib/systemd")
        .is_dir()
        .then(|| folder.join(user).exists())
}

#[cfg(test)]
mod tests {
    use super::{ServiceKind, Signs};

    #[test]
    fn a_machine_with_neither_is_told_so() {
        let kind = |is_macos, has_systemctl, is_booted| {
            let signs = Signs {
                is_macos,
                has_systemctl,
                is_booted,
            };
            signs.kind()
        };
        assert_eq!(kind(true, false, false), Ok(ServiceKind::Launchd));
        assert_eq!(kind(false, true, false), Ok(ServiceKind::Systemd));
        assert_eq!(kind(false, false, true), Ok(ServiceKind::Systemd));
        let reason = kind(false, false, false).expect_err("there is none");
        assert!(reason.contains("mcpproxy serve"), "{reason}");
    }
}
