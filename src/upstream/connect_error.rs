//! The reason why a server is not connected, for the operator and for clients.

use std::time::Duration;

use crate::{
    failure::NextStep,
    process::{StderrLog, engine_is_down},
    text::{Quoted, Secrets, one_line},
};

/// What a program wrote before it failed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Written {
    /// The line of its stderr that says most of the cause.
    pub(super) stderr: Option<Quoted>,
    /// The line of its stdout that is no MCP message, or one that nothing waits for.
    pub(super) stdout: Option<Quoted>,
}

/// Why there is no connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectError {
    /// The whole reason, for the operator: may name paths of this machine.
    pub reason: String,
    /// What a client may read.
    pub outside: Box<str>,
    /// What the operator can do.
    pub step: NextStep,
    /// What the program wrote. For the operator only.
    pub(super) wrote: Box<Written>,
    /// How long the server asks to wait before the next attempt.
    pub retry_after: Option<Duration>,
    /// The program ended by itself.
    pub(super) has_exited: bool,
}

impl ConnectError {
    /// The step for a program that writes other things than messages to its standard output.
    pub(super) const ONLY_MESSAGES: &str =
        "have it write only MCP messages to stdout, or update it";

    /// The same without secrets, and cut: a server may repeat in its error what it was sent, and write as much as it likes.
    pub(super) fn without(self, secrets: &Secrets) -> Self {
        let quoted = |line: Quoted| Quoted::of(line.as_str().as_bytes(), secrets);
        Self {
            reason: shown(&self.reason, secrets),
            outside: shown(&self.outside, secrets).into(),
            step: self.step.shown(|text| shown(text, secrets)),
            wrote: Box::new(Written {
                stderr: self.wrote.stderr.map(quoted),
                stdout: self.wrote.stdout.map(quoted),
            }),
            ..self
        }
    }

    /// The configuration says that the server has no handshake, and the server says something else.
    pub(super) fn wants_handshake() -> Self {
        Self::plain(
            "it needs a handshake, but its protocol_era is \"modern\"",
            NextStep::fix_key("protocol_era", "set its `protocol_era` to \"auto\""),
        )
    }

    /// The same for a program that wrote this line to its standard output, where only messages may stand. That is never the reason why a
    /// program has ended.
    pub(super) fn after_writing(mut self, line: &Quoted) -> Self {
        self.wrote.stdout = Some(line.clone());
        if !self.has_exited {
            self.step = NextStep::act(Self::ONLY_MESSAGES);
        }
        self
    }

    /// With what the program wrote since this position of its log; one that wrote nothing has no log to read.
    pub(super) fn with_words(mut self, log: &StderrLog, since: u64) -> Self {
        let wrote = log.last_words(since);
        let has_log = !log.tail(1).is_empty();
        let engine = wrote.as_deref().and_then(engine_is_down);
        if let Some(engine) = engine {
            return Self::plain(
                &format!("{engine} is not running"),
                NextStep::act(format!("start {engine}, then restart the server")),
            );
        }
        if matches!(self.step, NextStep::ReadLog) && !has_log {
            self.step = NextStep::RunByHand;
        }
        let wrote = wrote.map(|line| Quoted::of(line.as_bytes(), &Secrets::default()));
        self.wrote.stderr = wrote;
        self
    }

    /// The whole reason, with the program's own words of each kind.
    pub fn whole(&self) -> String {
        let Written { stderr, stdout } = &*self.wrote;
        let stderr = stderr.as_ref().map(|line| format!(": {line}"));
        let stdout = stdout.as_ref();
        let stdout = stdout.map(|line| format!("; an unexpected line on its stdout: {line}"));
        let (stderr, stdout) = (stderr.unwrap_or_default(), stdout.unwrap_or_default());
        format!("{}{stderr}{stdout}", self.reason)
    }

    pub(super) fn plain(reason: &str, step: NextStep) -> Self {
        Self {
            reason: reason.to_owned(),
            outside: reason.into(),
            step,
            wrote: Box::default(),
            retry_after: None,
            has_exited: false,
        }
    }
}

/// Limit: bytes of a server's own reason for its failure that are shown and logged.
const LONGEST: usize = 2 << 10;

/// A text that may quote a server, without secrets and cut.
pub(super) fn shown(text: &str, secrets: &Secrets) -> String {
    one_line(text, secrets, LONGEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_stderr_and_stdout_are_told_apart() {
        let error = ConnectError::plain("no answer", NextStep::ReadLog);
        let quoted = |text: &str| Quoted::of(text.as_bytes(), &Secrets::default());
        let mut error = error.after_writing(&quoted("hello"));
        error.wrote.stderr = Some(quoted("v1"));
        let expected = "no answer: \"v1\"; an unexpected line on its stdout: \"hello\"";
        assert_eq!(error.whole(), expected);
    }

    #[test]
    fn what_a_server_says_is_redacted_and_cut() {
        let secrets = Secrets::new(["hunter2-hunter2".to_owned()]);
        assert_eq!(shown("it is hunter2-hunter2", &secrets), "it is ***");
        assert_eq!(shown("no: password=hunter3", &secrets), "no: password=***");
        for before in 0..32 {
            let text = "ä".repeat(before) + &"hunter2-hunter2 ".repeat(1_000);
            let cut = shown(&text, &secrets);
            assert!(cut.len() < LONGEST + 64, "{}", cut.len());
            assert!(!cut.contains("hunt"), "{cut}");
            assert!(cut.ends_with('…'), "{cut}");
        }
    }
}
