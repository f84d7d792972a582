//! What differs from platform to platform: standard streams, sessions and the terminal. Nothing else of the
//! command line knows.

use std::io;

use tokio::io::{AsyncRead, AsyncWrite};

/// Stdin, for messages.
pub(super) type StdinStream = Box<dyn AsyncRead + Unpin + Send>;
/// Stdout, for messages.
pub(super) type StdoutStream = Box<dyn AsyncWrite + Unpin + Send>;

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

/// Stdin and stdout. Pipes and sockets are waited for like any connection; anything else is read and written by threads.
#[cfg(unix)]
pub(super) fn standard_streams() -> io::Result<(StdinStream, StdoutStream)> {
    use std::os::fd::AsFd;

    use rustix::fs::FileType;
    use tokio::net::{UnixStream, unix::pipe};

    let socket = |fd| {
        let socket = std::os::unix::net::UnixStream::from(fd);
        socket.set_nonblocking(true)?;
        UnixStream::from_std(socket)
    };
    let kind = |fd: &std::os::fd::OwnedFd| -> io::Result<FileType> {
        Ok(FileType::from_raw_mode(rustix::fs::fstat(fd)?.st_mode))
    };
    let stdin = io::stdin().as_fd().try_clone_to_owned()?;
    let input: StdinStream = match kind(&stdin)? {
        FileType::Fifo => Box::new(pipe::Receiver::from_owned_fd(stdin)?),
        FileType::Socket => Box::new(socket(stdin)?),
        _ => Box::new(tokio::io::stdin()),
    };
    let stdout = io::stdout().as_fd().try_clone_to_owned()?;
    let output: StdoutStream = match kind(&stdout)? {
        FileType::Fifo => Box::new(pipe::Sender::from_owned_fd(stdout)?),
        FileType::Socket => Box::new(socket(stdout)?),
        _ => Box::new(tokio::io::stdout()),
    };
    Ok((input, output))
}

/// Stdin and stdout, read and written by threads.
#[cfg(not(unix))]
#[expect(clippy::unnecessary_wraps, reason = "the unix sibling can fail")]
pub(super) fn standard_streams() -> io::Result<(StdinStream, StdoutStream)> {
    Ok((Box::new(tokio::io::stdin()), Box::new(tokio::io::stdout())))
}

/// Whose process this is.
#[cfg(unix)]
pub(super) fn user_id() -> u32 {
    rustix::process::geteuid().as_raw()
}

#[cfg(not(unix))]
pub(super) fn user_id() -> u32 {
    0
}

/// Leaves the session, and with it the terminal, of whoever started us.
#[cfg(unix)]
pub(super) fn leave_session() {
    // Fails only for one who leads a group, and so is alone already.
    let _ = rustix::process::setsid();
}

/// Asks a process to end.
#[cfg(unix)]
pub(super) fn terminate(pid: u32) -> io::Result<()> {
    let pid = process(pid).ok_or(io::ErrorKind::InvalidInput)?;
    rustix::process::kill_process(pid, rustix::process::Signal::TERM)?;
    Ok(())
}

/// Whether a process is there.
#[cfg(unix)]
pub(super) fn is_alive(pid: u32) -> bool {
    process(pid).is_some_and(|pid| rustix::process::test_kill_process(pid).is_ok())
}

#[cfg(unix)]
fn process(pid: u32) -> Option<rustix::process::Pid> {
    rustix::process::Pid::from_raw(i32::try_from(pid).ok()?)
}

/// Elsewhere a process cannot be asked.
#[cfg(not(unix))]
pub(super) fn terminate(_: u32) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(not(unix))]
pub(super) fn is_alive(_: u32) -> bool {
    false
}

/// There are no sessions here.
#[cfg(not(unix))]
pub(super) fn leave_session() {}
