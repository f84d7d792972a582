//! Calls of the platform's keyring, each in a thread of its own: a call blocks until the user answers the keyring's dialog.

use std::{
    sync::{Arc, mpsc},
    thread,
    time::{Duration, Instant},
};

use super::error::KeyringError;
use crate::runtime::sync::Guarded;

/// How long a keyring that did not answer is not called again: each call would delay the reading of the configuration.
const LEFT_ALONE: Duration = Duration::from_secs(5);

/// Allows one call at a time. Clones share the state.
#[derive(Clone, Default)]
pub(super) struct KeyringQuestions(Arc<Guarded<State>>);

#[derive(Default)]
struct State {
    /// Whether an earlier call has not ended yet.
    is_open: bool,
    /// When the last call got no answer in time.
    silent_since: Option<Instant>,
}

impl KeyringQuestions {
    /// Runs `question` in a thread, and waits for its answer until a deadline.
    pub(super) fn ask<T: Send + 'static>(
        &self,
        until: Instant,
        question: impl FnOnce() -> Result<T, KeyringError> + Send + 'static,
    ) -> Result<T, KeyringError> {
        {
            let mut state = self.0.lock();
            let is_silent = |since: Instant| since.elapsed() < LEFT_ALONE;
            if state.is_open || state.silent_since.is_some_and(is_silent) {
                return Err(KeyringError::Silent);
            }
            state.is_open = true;
        }
        let (done, answer) = mpsc::channel();
        let state = Arc::clone(&self.0);
        let thread = thread::Builder::new().name("keyring".to_owned());
        let started = thread.spawn(move || {
            let answer = question();
            state.lock().is_open = false;
            // An error means that the caller no longer waits.
            let _ = done.send(answer);
        });
        if let Err(error) = started {
            self.0.lock().is_open = false;
            let what = format!("failed to start a thread: {error}");
            return Err(KeyringError::Failed(what));
        }
        let patience = until.saturating_duration_since(Instant::now());
        let answer = answer.recv_timeout(patience);
        let answer = answer.unwrap_or(Err(KeyringError::Silent));
        let is_silent = matches!(answer, Err(KeyringError::Silent));
        self.0.lock().silent_since = is_silent.then(Instant::now);
        answer
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_does_not_answer_is_not_asked_again_at_once() {
        let questions = KeyringQuestions::default();
        let (end, wait) = mpsc::channel::<()>();
        let soon = || Instant::now() + Duration::from_millis(20);
        let first = questions.ask(soon(), move || {
            // Ends when the test does.
            let _ = wait.recv();
            Ok(1)
        });
        assert_eq!(first, Err(KeyringError::Silent));
        assert_eq!(questions.ask(soon(), || Ok(2)), Err(KeyringError::Silent));
        drop(end);
    }

    #[test]
    fn whoever_answers_is_asked_again() {
        let questions = KeyringQuestions::default();
        for number in 0..3 {
            let late = Instant::now() + Duration::from_mins(1);
            assert_eq!(questions.ask(late, move || Ok(number)), Ok(number));
        }
    }
}
