//! The calls to the operating system: standard streams, processes and the terminal. The rest of the command line is the same on all.

use std::io;

use tokio::io::{AsyncRead, AsyncWrite};

/// Stdin, for messages.
pub(super) type StdinStream = Box<dyn AsyncRead + Unpin + Send>;
/// Stdout, for messages.
pub(super) type StdoutStream = Box<dyn AsyncWrite + Unpin + Send>;

/// The width in columns of the terminal behind stdout, if there is one and reports it.
#[cfg(unix)]
pub(super) fn terminal_width() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(io::stdout()).ok()?;
    (size.ws_col > 0).then_some(size.ws_col.into())
}

#[cfg(not(unix))]
pub(super) fn terminal_width() -> Option<usize> {
    None
}

/// A handle to stderr, to be kept while a log file takes the place of stderr.
#[cfg(unix)]
pub(super) fn stderr_before_log() -> Option<std::fs::File> {
    use std::os::fd::AsFd;

    let kept = io::stderr().as_fd().try_clone_to_owned().ok()?;
    Some(kept.into())
}

/// Whether another file has taken the place of the stderr of this handle.
#[cfg(unix)]
pub(super) fn is_former_stderr(kept: &std::fs::File) -> bool {
    let (then, now) = (rustix::fs::fstat(kept), rustix::fs::fstat(io::stderr()));
    then.ok()
        .zip(now.ok())
        .is_some_and(|(then, now)| (then.st_dev, then.st_ino) != (now.st_dev, now.st_ino))
}

#[cfg(not(unix))]
pub(super) fn is_former_stderr(_: &std::fs::File) -> bool {
    false
}

/// No handle: elsewhere a log file does not take the place of stderr.
#[cfg(not(unix))]
pub(super) fn stderr_before_log() -> Option<std::fs::File> {
    None
}

/// Lets a write beyond the limit on the size of files (`ulimit -f`) fail with an error. Without this, a signal would end the process.
#[cfg(unix)]
pub(super) fn outlive_file_limit(runtime: &tokio::runtime::Runtime) {
    use tokio::signal::unix::{SignalKind, signal};

    let _entered = runtime.enter();
    // If this fails, the signal ends the process.
    let _ = signal(SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw()));
}

#[cfg(not(unix))]
pub(super) fn outlive_file_limit(_: &tokio::runtime::Runtime) {}

/// Stdin and stdout. Pipes and sockets are polled; files and terminals are read and written by threads.
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

/// Returns when nobody reads stdout any more; never if that cannot be known.
#[cfg(unix)]
pub(super) async fn stdout_closed() {
    use std::{os::fd::AsFd, time::Duration};

    use tokio::{io::Interest, net::unix::pipe};

    let stdout = io::stdout().as_fd().try_clone_to_owned();
    // This takes pipes and sockets, and fails for a file.
    let Ok(watched) = stdout.and_then(pipe::Sender::from_owned_fd_unchecked) else {
        return std::future::pending().await;
    };
    while let Ok(state) = watched.ready(Interest::WRITABLE).await
        && !state.is_write_closed()
    {
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}

#[cfg(not(unix))]
pub(super) async fn stdout_closed() {
    std::future::pending().await
}

/// The user of this process.
#[cfg(unix)]
pub(super) fn user_id() -> u32 {
    rustix::process::geteuid().as_raw()
}

#[cfg(not(unix))]
pub(super) fn user_id() -> u32 {
    0
}

/// Leaves the session of the parent process, and with it the terminal.
#[cfg(unix)]
pub(super) fn leave_session() {
    // This fails only for the leader of a process group, which has a session of its own already.
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

/// Elsewhere, this is not supported.
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

/// Drops what was typed before the question that it would answer was there.
#[cfg(unix)]
pub(super) fn drop_typed() {
    // If the terminal is gone, reading says so.
    let _ = rustix::termios::tcflush(io::stdin(), rustix::termios::QueueSelector::IFlush);
}

#[cfg(not(unix))]
pub(super) fn drop_typed() {}

/// Reads a line from the terminal behind stdin without showing it.
#[cfg(unix)]
pub(super) fn read_hidden_line() -> io::Result<String> {
    use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};

    let shown = tcgetattr(io::stdin())?;
    let mut hidden = shown.clone();
    // Without signals, because Ctrl-C would leave the terminal in this mode.
    hidden.local_modes -= LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG;
    tcsetattr(io::stdin(), OptionalActions::Flush, &hidden)?;
    let typed = typed_line(&mut io::Read::bytes(io::stdin().lock()));
    tcsetattr(io::stdin(), OptionalActions::Now, &shown)?;
    typed
}

#[cfg(not(unix))]
pub(super) fn read_hidden_line() -> io::Result<String> {
    let why = "a value cannot be typed here without showing it; pipe it in";
    Err(io::Error::new(io::ErrorKind::Unsupported, why))
}

/// The line that these keys type.
#[cfg(unix)]
fn typed_line(keys: &mut dyn Iterator<Item = io::Result<u8>>) -> io::Result<String> {
    const CTRL_C: u8 = 3;
    const CTRL_D: u8 = 4;
    const CTRL_U: u8 = 21;
    const BACKSPACES: [u8; 2] = [8, 127];
    // Limit: bytes of the line, more than the longest secret that is accepted.
    const LONGEST: usize = 128 << 10;

    let mut line: Vec<u8> = Vec::new();
    for key in keys {
        match key? {
            b'\r' | b'\n' | CTRL_D => {
                let line = String::from_utf8(line);
                return line.map_err(|_| io::Error::other("it is not UTF-8 text"));
            }
            CTRL_C => return Err(io::Error::other("it was interrupted")),
            CTRL_U => line.clear(),
            key if BACKSPACES.contains(&key) => {
                // A character has one byte or more.
                while line.pop().is_some_and(|byte| byte & 0xc0 == 0x80) {}
            }
            b'\t' => line.push(b'\t'),
            // An arrow key, for example, would add bytes that nobody sees.
            key if key.is_ascii_control() => {
                return Err(io::Error::other(
                    "a key that types no character was pressed",
                ));
            }
            key if line.len() < LONGEST => line.push(key),
            _ => (),
        }
    }
    Err(io::Error::other("the terminal is gone"))
}

#[cfg(all(test, unix))]
mod tests {
    use super::typed_line;

    #[test]
    fn keys_make_a_line() {
        let typed = |keys: &str| typed_line(&mut keys.bytes().map(Ok)).ok();
        for (keys, line) in [
            ("abc\r", Some("abc")),
            ("abc\nrest", Some("abc")),
            ("abd\u{7f}c\r", Some("abc")),
            ("aé\u{8}b\r", Some("ab")),
            ("\u{7f}a\r", Some("a")),
            ("wrong\u{15}right\r", Some("right")),
            ("abc\u{4}", Some("abc")),
            ("abc\u{3}", None),
            ("abc\u{1b}[A\r", None),
            ("a\tb\r", Some("a\tb")),
            ("abc", None),
        ] {
            assert_eq!(typed(keys).as_deref(), line, "{keys:?}");
        }
    }
}
