//! What became of a request, however it came in.

use crate::support::prelude::*;

/// What became of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Outcome {
    Passed,
    /// Refused with this code of ours, or with a JSON-RPC code where there is none.
    Refused(String),
}

pub(super) fn refused(code: &str) -> Outcome {
    Outcome::Refused(code.to_owned())
}

/// How the command line says what a code stands for.
pub(super) const SAID: [(&str, &str); 10] = [
    ("access_denied", "access rules deny"),
    ("server_disabled", "the server \"off\" is disabled"),
    ("server_misconfigured", "cannot be used"),
    ("server_quarantined", "is quarantined"),
    ("tool_changed", "its definition changed"),
    ("tool_disabled", "is disabled"),
    ("unknown_server", "no server"),
    ("unknown_tool", "has no tool"),
    ("wrong_variant", "if you want that"),
    ("tool_held", "is held: "),
];

impl Outcome {
    pub(super) fn of(reply: &Reply) -> Self {
        let frame: Value = serde_json::from_str(&reply.frame).expect("JSON");
        if let Some(error) = frame.get("error") {
            let ours = error["data"]["code"].as_str();
            return Self::Refused(ours.map_or_else(|| error["code"].to_string(), str::to_owned));
        }
        if frame["result"]["isError"] == true {
            let code = reply.failure()["code"].as_str().map(str::to_owned);
            return Self::Refused(code.expect("a failure has a code"));
        }
        Self::Passed
    }
}
