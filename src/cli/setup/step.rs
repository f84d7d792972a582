//! The steps of the setup, in order.

use super::super::output::Output;

/// How many steps there are.
const STEPS: u8 = 5;

#[derive(Debug, Clone, Copy)]
pub(super) enum SetupStep {
    Configuration = 1,
    Servers,
    Daemon,
    Clients,
    Call,
}

impl SetupStep {
    /// Says what the step did.
    pub(super) fn say(self, text: &str, out: Output) {
        out.done(&format!("{}/{STEPS} {text}", self as u8));
    }
}
