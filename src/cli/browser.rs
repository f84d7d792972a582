//! Opens addresses in the browser of this machine.

use std::{process::Stdio, time::Duration};

/// How long the program that opens browsers may take to fail. One that takes longer runs the browser.
const OPENING: Duration = Duration::from_secs(3);

/// Opens an address. Gives whether a browser was opened, as far as that can be known.
pub(super) async fn open(url: &str) -> bool {
    let has_screen = ["DISPLAY", "WAYLAND_DISPLAY"]
        .iter()
        .any(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()));
    if !cfg!(target_os = "macos") && !has_screen {
        return false;
    }
    let program = if cfg!(target_os = "macos") {
        "open"
    } else {
        "xdg-open"
    };
    let opening = tokio::process::Command::new(program)
        .arg(url)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let Ok(mut opening) = opening else {
        return false;
    };
    let ended = tokio::time::timeout(OPENING, opening.wait()).await;
    ended.is_err() || matches!(ended, Ok(Ok(status)) if status.success())
}
