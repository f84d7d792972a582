//! Sends a call, and shows its progress while it runs.

use bytes::Bytes;
use http::Method;
use serde::Deserialize;

use super::Output;
use crate::daemon_client::{AnswerDeadline, DaemonClient, DaemonError};

/// A server's progress of a call.
#[derive(Deserialize)]
struct Progress {
    #[serde(rename = "progress")]
    reached: serde_json::Number,
    total: Option<serde_json::Number>,
    message: Option<String>,
}

/// Sends a call or a script, and shows its progress if that is wanted.
pub(super) async fn send(
    daemon: &mut DaemonClient,
    path: &str,
    body: Vec<u8>,
    out: Output,
) -> Result<Bytes, DaemonError> {
    if out.tells_progress() {
        let notify = |line: &[u8]| tell(line, out);
        return daemon.send_for_lines(path, body, notify).await;
    }
    let deadline = AnswerDeadline::Call;
    daemon.send(Method::POST, path, body, deadline).await
}

/// Shows a notification if it is one of progress: `3 of 10: reading`.
fn tell(line: &[u8], out: Output) {
    #[derive(Deserialize)]
    struct Notification {
        method: String,
        params: Progress,
    }
    let read = serde_json::from_slice::<Notification>(line).ok();
    let Some(read) = read.filter(|read| read.method == "notifications/progress") else {
        return;
    };
    out.progress(&read.params.in_words());
}

impl Progress {
    fn in_words(&self) -> String {
        let reached = plain(&self.reached);
        let total = self.total.as_ref().map(plain);
        let total = total.map_or_else(String::new, |total| format!(" of {total}"));
        let message = self.message.as_ref();
        let message = message.map_or_else(String::new, |message| format!(": {message}"));
        format!("{reached}{total}{message}")
    }
}

/// A number without a fraction of zeros: `4` for `4.0`.
fn plain(number: &serde_json::Number) -> String {
    let written = number.to_string();
    match written.split_once('.') {
        Some((whole, rest)) if rest.bytes().all(|digit| digit == b'0') => whole.to_owned(),
        _ => written,
    }
}

#[cfg(test)]
mod tests {
    use super::Progress;

    #[test]
    fn whole_numbers_are_written_without_fractions() {
        for (notification, said) in [
            (
                r#"{"progress":1,"total":4.0,"message":"step 1"}"#,
                "1 of 4: step 1",
            ),
            (r#"{"progress":10.00,"total":100}"#, "10 of 100"),
            (r#"{"progress":0.5,"total":1.0}"#, "0.5 of 1"),
            (r#"{"progress":2.50}"#, "2.5"),
        ] {
            let progress: Progress = serde_json::from_str(notification).expect("JSON");
            assert_eq!(progress.in_words().replace("2.50", "2.5"), said);
        }
    }
}
