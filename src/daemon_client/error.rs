//! Why a request to the daemon failed.

use std::{error::Error, path::PathBuf};

use http_body_util::LengthLimitError;

use super::AnswerDeadline;
use crate::{config::LONGEST_SOCKET_PATH, failure::ErrorCode};

/// Why a request to the daemon failed.
#[derive(Debug, thiserror::Error)]
pub enum DaemonError {
    /// Nobody listens, and why no daemon could start, where that is known. Some commands can go on without.
    #[error("the daemon is not running{}", .0.as_ref().map_or(String::new(), |why| format!(", and {why}")))]
    NotRunning(Option<String>),
    /// Nobody listens, and there is no configuration file where it is by default.
    #[error("the daemon is not running, and there is no configuration yet")]
    NotSetUp,
    /// Nobody listens, but a daemon has the data folder.
    #[error("the daemon is starting or stopping")]
    Passing,
    /// Somebody listens, for another configuration than the one that is meant. Some commands can go on without.
    #[error("the daemon of the data folder {} uses {served}, not {}", data_dir.display(), requested.display())]
    OtherConfiguration {
        /// Its data folder.
        data_dir: PathBuf,
        /// The file that it serves.
        served: String,
        /// The file that was meant.
        requested: PathBuf,
    },
    /// The data folder is a file, or a file leads to it.
    #[error("the data folder {} is not a folder", .0.display())]
    NoFolder(PathBuf),
    /// The data folder is another user's.
    #[error("your user is not allowed to open the data folder {}", .0.display())]
    ClosedFolder(PathBuf),
    /// Another user's daemon has the data folder.
    #[error("your user is not allowed to use the daemon of {}", .0.display())]
    OtherUser(PathBuf),
    /// The path of the socket is longer than the system allows.
    #[error("the path of the daemon's socket is longer than {} bytes: {}", LONGEST_SOCKET_PATH, .0.display())]
    TooLong(PathBuf),
    /// It runs and says nothing.
    #[error("the daemon{} did not answer within {seconds} s", pid.map_or(String::new(), |pid| format!(" (process {pid})")))]
    Silent {
        /// Its process, where the system says that.
        pid: Option<i32>,
        /// How long it was waited.
        seconds: u64,
    },
    /// Something is there, but no connection comes about.
    #[error("failed to reach the daemon on {}: {reason}", socket.display())]
    Unreachable {
        /// The local socket.
        socket: PathBuf,
        /// The process that listens on it, where the system says that.
        pid: Option<i32>,
        /// What happened.
        reason: String,
    },
    /// It says no.
    #[error("{0}")]
    Refused(DaemonRefusal),
    /// It says nothing.
    #[error("the daemon did not answer {request} within {} s", deadline.duration().as_secs())]
    TimedOut {
        /// Method and path.
        request: String,
        /// What was waited for.
        deadline: AnswerDeadline,
    },
    /// The connection broke off.
    #[error("lost the connection to the daemon during {request}: {reason}")]
    Lost {
        /// Method and path.
        request: String,
        /// What happened.
        reason: String,
    },
    /// Its answer is not what this version knows.
    #[error("the daemon's answer to {request} could not be understood: {reason}")]
    BadAnswer {
        /// Method and path.
        request: String,
        /// What is wrong with it.
        reason: String,
    },
}

impl DaemonError {
    /// Whether there is no daemon to ask.
    pub fn is_absence(&self) -> bool {
        self.is_not_running() || matches!(self, Self::OtherConfiguration { .. })
    }

    /// Whether nobody listens.
    pub fn is_not_running(&self) -> bool {
        matches!(self, Self::NotRunning(_) | Self::NotSetUp | Self::Passing)
    }
}

/// The daemon's own words for a failure.
#[derive(Debug, thiserror::Error)]
#[error("{error}")]
pub struct DaemonRefusal {
    pub(super) error: String,
    /// Nothing when the daemon used a code that this version does not know.
    pub code: Option<ErrorCode>,
    /// The next step.
    pub hint: Option<String>,
}

/// Why the daemon is not reached where another program has its socket.
pub(super) const ANOTHER: &str = "another program answers there";

/// Why an exchange with the daemon has no answer, in plain words: the library's are for those who write a server.
pub(super) fn unanswered(error: &(dyn Error + 'static)) -> String {
    let of_http = error.downcast_ref::<hyper::Error>();
    let why = if of_http.is_some_and(hyper::Error::is_parse) {
        ANOTHER
    } else if error.is::<LengthLimitError>() {
        "the answer is too large"
    } else {
        "it ended before its answer was complete"
    };
    why.to_owned()
}
