//! The revisions of the protocol, and every question whose answer depends on them.

use super::{RpcError, method};
use crate::text::{moment, spelt};

spelt! {
    /// A revision of the Model Context Protocol, oldest first.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Revision {
        /// HTTP+SSE as remote transport.
        V2024_11_05 = "2024-11-05",
        /// Streamable HTTP, batches.
        V2025_03_26 = "2025-03-26",
        /// No batches, structured results.
        V2025_06_18 = "2025-06-18",
        /// Icons, tasks as an experiment.
        V2025_11_25 = "2025-11-25",
        /// No handshake, no sessions.
        V2026_07_28 = "2026-07-28",
    }
}

impl Revision {
    /// The newest revision with a handshake: what a client is answered that asks for one we do not know.
    pub const NEWEST_LEGACY: Self = Self::V2025_11_25;

    /// The newest revision.
    pub const NEWEST: Self = Self::V2026_07_28;

    /// What a Streamable HTTP request speaks that does not say (revision 2025-06-18, "Protocol Version Header").
    pub const ASSUMED: Self = Self::V2025_03_26;

    /// What `initialize` answers to a client that asks for `requested`: the same if it is a legacy revision we speak, else the
    /// newest of those (lifecycle, "Version Negotiation").
    pub fn negotiate(requested: &str) -> Self {
        Self::parse(requested)
            .filter(|revision| revision.has_handshake())
            .unwrap_or(Self::NEWEST_LEGACY)
    }

    /// What the `MCP-Protocol-Version` header of a legacy request means: any date between the first revision that was ever published and
    /// the first one without a handshake is accepted, since the session, not the header, says what was agreed, and a date that is not
    /// listed here must not lock a client out. `None` for what is no date, or an earlier or later one.
    pub fn from_header(text: &str) -> Option<Self> {
        let known = Self::ALL.iter().find(|(_, name)| *name == text);
        if let Some((revision, _)) = known.filter(|(revision, _)| revision.has_handshake()) {
            return Some(*revision);
        }
        if !moment::is_day(text) || text < FIRST_PUBLISHED || text >= Self::V2026_07_28.as_str() {
            return None;
        }
        let newest_not_after = Self::ALL.iter().rev().find(|(_, name)| *name <= text);
        Some(newest_not_after.map_or(Self::V2024_11_05, |(revision, _)| *revision))
    }

    /// Whether the `MCP-Protocol-Version` header names a revision with stateless requests, known to us or not.
    pub fn is_modern_header(text: &str) -> bool {
        moment::is_day(text) && text >= Self::V2026_07_28.as_str()
    }

    /// Whether a connection opens with `initialize`.
    pub fn has_handshake(self) -> bool {
        self < Self::V2026_07_28
    }

    /// Every revision, oldest first.
    pub fn all() -> impl Iterator<Item = Self> {
        Self::ALL.iter().map(|(revision, _)| *revision)
    }

    /// The revisions with stateless requests, oldest first.
    pub fn without_handshake() -> impl Iterator<Item = Self> {
        Self::all().filter(|revision| !revision.has_handshake())
    }

    /// Whether servers ask clients by requests, at any time; later they ask by results (revision 2026-07-28, basic/patterns/mrtr).
    pub fn has_server_requests(self) -> bool {
        self.has_handshake()
    }

    /// Whether every request says in `_meta` who sends it (revision 2026-07-28, basic, "Per-request protocol fields").
    pub fn requests_name_sender(self) -> bool {
        !self.has_handshake()
    }

    /// Whether HTTP headers repeat what a request's params say (revision 2026-07-28, transports, "Request Headers").
    pub fn headers_repeat_params(self) -> bool {
        !self.has_handshake()
    }

    /// Whether results say in `resultType` of what kind they are; before, there was one kind.
    pub fn has_result_types(self) -> bool {
        !self.has_handshake()
    }

    /// Whether changes are announced on `subscriptions/listen` only.
    pub fn has_listen(self) -> bool {
        !self.has_handshake()
    }

    /// Whether a result can be a task, whose outcome is requested by its id (tasks extension).
    pub fn has_task_results(self) -> bool {
        !self.has_handshake()
    }

    /// Whether a client sets the level of log lines by `logging/setLevel`; later each request names it.
    pub fn has_set_level(self) -> bool {
        self.has_handshake()
    }

    /// Whether a client that never named a level gets log lines of every level; later it gets none (logging, "Message Filtering").
    pub fn logs_by_default(self) -> bool {
        self.has_handshake()
    }

    /// Whether tasks are the same thing in both.
    pub fn has_tasks_of(self, other: Self) -> bool {
        self.has_task_results() == other.has_task_results()
    }

    /// Whether it may have this method: those that belong to the other era are missing.
    pub fn may_have_method(self, method: &str) -> bool {
        if self.has_handshake() {
            !method::is_modern(method)
        } else {
            !method::went_with_the_handshake(method)
        }
    }

    /// Their names, as `server/discover` lists what is supported.
    pub fn names_without_handshake() -> Vec<&'static str> {
        Self::without_handshake().map(Self::as_str).collect()
    }

    /// Whether a POST may carry several messages.
    pub fn has_batches(self) -> bool {
        self == Self::V2025_03_26
    }

    /// Whether a client of Streamable HTTP can resume a broken stream.
    pub fn has_resumption(self) -> bool {
        self.has_handshake() && self >= Self::V2025_03_26
    }

    /// Whether streams begin with an event without data, whose id lets a client resume before the first message. Older clients
    /// would take it for a malformed message.
    pub fn primes_streams(self) -> bool {
        self.has_handshake() && self >= Self::V2025_11_25
    }

    /// The code that says a resource does not exist.
    pub fn missing_resource_code(self) -> i64 {
        if self.has_handshake() {
            -32002
        } else {
            RpcError::INVALID_PARAMS
        }
    }
}

impl std::fmt::Display for Revision {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A draft that clients still name; nothing older was a revision.
const FIRST_PUBLISHED: &str = "2024-10-07";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_read_back() {
        for &(revision, name) in Revision::ALL {
            assert_eq!(
                (revision.as_str(), Revision::parse(name)),
                (name, Some(revision))
            );
        }
    }

    #[test]
    fn a_legacy_client_gets_what_it_asks_for_or_the_newest_legacy() {
        let check = |asked, answered| assert_eq!(Revision::negotiate(asked).as_str(), answered);
        check("2024-11-05", "2024-11-05");
        check("2025-06-18", "2025-06-18");
        check("2026-07-28", "2025-11-25");
        check("1999-01-01", "2025-11-25");
        check("", "2025-11-25");
    }

    #[test]
    fn any_date_that_a_legacy_revision_can_have_is_accepted_in_the_header() {
        let check = |text, expected: Option<&str>| {
            assert_eq!(Revision::from_header(text).map(Revision::as_str), expected);
        };
        check("2025-06-18", Some("2025-06-18"));
        check("2025-07-01", Some("2025-06-18"));
        check("2024-10-07", Some("2024-11-05"));
        check("2024-10-06", None);
        check("1999-01-01", None);
        check("2026-07-28", None);
        check("2030-01-01", None);
        check("soon", None);
        check("2024-12-31", Some("2024-11-05"));
        for no_day in [
            "2025-13-45",
            "2025-00-10",
            "2025-06-00",
            "2025-06-31",
            "2025-02-29",
        ] {
            check(no_day, None);
        }
        assert!(Revision::is_modern_header("2028-02-29"));
        for no_day in ["2026-13-45", "2100-02-29", "2027-02-29"] {
            assert!(!Revision::is_modern_header(no_day), "{no_day}");
        }
        assert!(
            Revision::is_modern_header("2026-07-28") && Revision::is_modern_header("2030-01-01")
        );
        assert!(
            !Revision::is_modern_header("2025-11-25") && !Revision::is_modern_header("v999.0.0")
        );
    }
}
