//! The messages between the daemon and the process of a script, each one line of JSON. The daemon trusts nothing that the process sends.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{CodePlace, ScriptFailure};

/// The first message to the process: the script.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ScriptStart {
    pub(super) code: String,
    /// What the script finds as `input`.
    pub(super) input: Box<RawValue>,
    /// How long it may take from its start on, and how long it may compute, in milliseconds.
    pub(super) wall_ms: u64,
    pub(super) cpu_ms: u64,
}

/// A message from the process.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScriptEvent {
    /// The script waits for the results of these calls.
    Calls(CallBatch),
    /// The script logged a line.
    Log(String),
    /// The script ended.
    Ended(ScriptEnd),
}

/// Calls that a script waits for together.
#[derive(Debug, Serialize, Deserialize)]
pub struct CallBatch {
    /// The calls as the script wrote them, not validated.
    pub requests: Vec<Box<RawValue>>,
    /// How many of them may run at once.
    pub max_parallel: usize,
    /// Where the script waits for them.
    #[serde(default)]
    pub at: CodePlace,
}

/// How a script ended.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScriptEnd {
    /// With this value, as JSON.
    Value(Box<RawValue>),
    /// Without a value, for this reason.
    Failed(ScriptFailure),
}

impl From<ScriptFailure> for ScriptEnd {
    fn from(failure: ScriptFailure) -> Self {
        Self::Failed(failure)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_read_as_they_are_written() {
        for line in [
            r#"{"calls":{"requests":[{"server":"a","tool":"b","args":{"n":1.10}}],"max_parallel":2,"at":{"stack":"","position":[3,1]}}}"#,
            r#"{"log":"x\ny"}"#,
            r#"{"ended":{"value":{"n":12345678901234567890123}}}"#,
            r#"{"ended":{"failed":{"code":"TIMEOUT","message":"m","place":{"stack":"","position":[1,2]}}}}"#,
        ] {
            let event: ScriptEvent = serde_json::from_str(line).expect("an event");
            assert_eq!(serde_json::to_string(&event).expect("JSON"), line);
        }
    }
}
