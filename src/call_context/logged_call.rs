//! The log context of a call: how its log lines name it.

use std::{borrow::Cow, sync::Arc};

use super::CallId;
use crate::{
    telemetry::{
        log_context::{ContextFields, LogContext, LoggedAs},
        logging,
    },
    wire::method,
};

/// Limit: bytes of a client's and a method's name, and of a request's id, in log lines and spans. Clients choose them.
const SHOWN: usize = 64;

/// The fields of a call in its log lines.
pub(super) struct LoggedCall {
    pub(super) id: CallId,
    pub(super) method: Cow<'static, str>,
    pub(super) caller: Arc<str>,
    /// The call that caused this one, and its log context.
    pub(super) outer: Option<(CallId, LoggedAs)>,
}

/// The beginning of a client's text, with secrets masked.
pub fn shown_name(text: &str) -> String {
    logging::beginning(text, SHOWN)
}

/// A method's name as it is shown. Known names are not copied.
pub(super) fn shown_method(method: &str) -> Cow<'static, str> {
    method::well_known(method).map_or_else(|| Cow::Owned(shown_name(method)), Cow::Borrowed)
}

impl LogContext for LoggedCall {
    fn name(&self) -> &'static str {
        "call"
    }

    fn fields(&self, fields: &mut dyn ContextFields) {
        fields.ours("id", &self.id);
        if let Some((outer, _)) = &self.outer {
            fields.ours("parent", outer);
        }
        fields.text("method", &self.method);
        fields.text("caller", &self.caller);
    }

    fn outer(&self) -> Option<&dyn LogContext> {
        self.outer.as_ref().map(|(_, outer)| outer.context())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_method_is_cut_where_a_character_ends() {
        assert_eq!(shown_method("ping"), "ping");
        assert!(matches!(shown_method("tools/call"), Cow::Borrowed(_)));
        let long = "ö".repeat(SHOWN);
        assert_eq!(shown_method(&long), "ö".repeat(SHOWN / 2));
    }
}
