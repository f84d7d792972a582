//! Which log lines of an upstream a client gets to see: those that come within its own request, from the level on that it wants.
//! Lines that come with no request stay with the operator.

use crate::{
    call_context::CallContext,
    wire::{LogLevel, Notification, Revision, method},
};

/// Whether a notification within a request is for its client.
pub(super) fn is_wanted(context: &CallContext, notice: &Notification) -> bool {
    &*notice.method != method::LOG_MESSAGE
        || is_grave_enough(context.revision, context.log_level, notice)
}

/// A legacy client that named no level sees everything, a modern one nothing (logging, "Message Filtering"). A line of an unknown
/// level passes wherever lines do.
fn is_grave_enough(revision: Revision, wanted: Option<LogLevel>, line: &Notification) -> bool {
    let Some(wanted) = wanted else {
        return revision.logs_by_default();
    };
    LogLevel::of_line(line).is_none_or(|level| level >= wanted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Raw;

    #[test]
    fn lines_pass_from_the_wanted_level_on() {
        let legacy = Revision::NEWEST_LEGACY;
        let modern = Revision::without_handshake().next().expect("there is one");
        let check = |revision, wanted: Option<&str>, level: &str, expected: bool| {
            let line = Notification {
                method: method::LOG_MESSAGE.into(),
                params: Some(Raw::author(&serde_json::json!({ "level": level }))),
            };
            let wanted = wanted.and_then(LogLevel::parse);
            let passes = is_grave_enough(revision, wanted, &line);
            assert_eq!(passes, expected, "{revision} {wanted:?} {level}");
        };
        check(legacy, None, "debug", true);
        check(modern, None, "emergency", false);
        for revision in [legacy, modern] {
            check(revision, Some("warning"), "info", false);
            check(revision, Some("warning"), "warning", true);
            check(revision, Some("warning"), "alert", true);
            check(revision, Some("warning"), "loud", true);
        }
    }
}
