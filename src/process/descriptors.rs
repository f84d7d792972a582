//! The limit of open files and connections: raised to what the system allows. Children get the former limit back: some programs close
//! every descriptor that there could be, one by one.

/// The most descriptors that the daemon takes. More are of no use, and costly to walk through.
#[cfg(unix)]
const MOST: u64 = 65_536;

/// How many descriptors there are at least, where the system does not say.
const FEW: usize = 256;

#[cfg(unix)]
mod unix {
    use std::sync::OnceLock;

    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

    use super::{FEW, MOST};

    /// macOS says that there is no limit, and lets programs have so many.
    const ON_MACOS: u64 = 10_240;

    /// The limit that this process began with.
    pub(super) static BEFORE: OnceLock<Rlimit> = OnceLock::new();

    /// Raises the limit once; later it only says what the limit is.
    pub(super) fn raise() -> usize {
        BEFORE.get_or_init(|| {
            let before = getrlimit(Resource::Nofile);
            let wanted = before.maximum.unwrap_or(MOST).min(MOST);
            let few = before.current.is_some_and(|current| current < wanted);
            if few
                && ![wanted, ON_MACOS.min(wanted)]
                    .into_iter()
                    .any(|limit| set(limit, &before))
            {
                tracing::warn!("the limit of open files could not be raised");
            }
            before
        });
        let now = getrlimit(Resource::Nofile).current.unwrap_or(MOST);
        usize::try_from(now).unwrap_or(FEW)
    }

    fn set(current: u64, before: &Rlimit) -> bool {
        let limit = Rlimit {
            current: Some(current),
            maximum: before.maximum,
        };
        setrlimit(Resource::Nofile, limit).is_ok()
    }
}

/// Raises the limit of open files to what the system allows, and gives the limit.
pub fn raise_descriptor_limit() -> usize {
    #[cfg(unix)]
    let limit = unix::raise();
    #[cfg(not(unix))]
    let limit = FEW;
    limit
}

/// Gives a child that was just started the limit that this process began with. There is a way to do so on Linux only; elsewhere children begin
/// with our limit.
#[cfg(target_os = "linux")]
pub(super) fn give_back(child: u32) {
    let Some(before) = unix::BEFORE.get() else {
        return;
    };
    let child = rustix::process::Pid::from_raw(child.cast_signed());
    // The only failure is that it has ended.
    if child.is_some() {
        let _ = rustix::process::prlimit(child, rustix::process::Resource::Nofile, *before);
    }
}

#[cfg(not(target_os = "linux"))]
pub(super) fn give_back(_: u32) {}
