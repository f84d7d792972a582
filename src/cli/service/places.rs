//! The service manager of this machine, and the paths of service files.

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

impl ServiceKind {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Systemd => "systemd",
            Self::Launchd => "launchd",
        }
    }
}

/// The service manager of this machine, if there is one.
pub(super) fn present() -> Option<ServiceKind> {
    let path = env::var_os("PATH").unwrap_or_default();
    if cfg!(target_os = "macos") {
        return Some(ServiceKind::Launchd);
    }
    let mut folders = env::split_paths(&path);
    let is_systemd = folders.any(|folder| folder.join("systemctl").is_file());
    is_systemd.then_some(ServiceKind::Systemd)
}

/// The path of mcpproxy's service file.
pub(super) fn file(kind: ServiceKind) -> Result<PathBuf, String> {
    let home = env::home_dir().filter(|home| home.is_absolute());
    let home = home.ok_or("your home folder is unknown: set $HOME")?;
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

/// Whether systemd keeps this user's services running after the last logout; nothing if that is unknown.
pub(super) fn lingers() -> Option<bool> {
    let folder = Path::new("/var/lib/systemd/linger");
    let user = env::var_os("USER")?;
    Path::new("/var/lib/systemd")
        .is_dir()
        .then(|| folder.join(user).exists())
}
