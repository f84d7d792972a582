//! What differs from platform to platform: the daemon's local socket and the terminal. Nothing else of the command line knows.

use std::{io, path::Path};

/// Opens the daemon's local socket.
#[cfg(unix)]
pub(super) async fn open_socket(socket: &Path) -> io::Result<tokio::net::UnixStream> {
    tokio::net::UnixStream::connect(socket).await
}

/// Elsewhere there is no local socket yet.
#[cfg(not(unix))]
pub(super) async fn open_socket(_socket: &Path) -> io::Result<tokio::io::DuplexStream> {
    std::future::ready(Err(io::Error::new(
        io::ErrorKind::Unsupported,
        "the local socket needs a Unix system",
    )))
    .await
}

/// The width of the terminal behind stdout, if there is one and it knows.
#[cfg(unix)]
pub(super) fn terminal_width() -> Option<u16> {
    let size = rustix::termios::tcgetwinsize(io::stdout()).ok()?;
    (size.ws_col > 0).then_some(size.ws_col)
}

#[cfg(not(unix))]
pub(super) fn terminal_width() -> Option<u16> {
    None
}
