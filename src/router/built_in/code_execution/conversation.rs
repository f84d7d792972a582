//! Carries on with one script from its start to its end: makes its calls and collects its logs, until it ends, times out, or its caller leaves.

use serde_json::value::RawValue;
use tokio::time::timeout_at;

use super::{ScriptRequest, answer::EndedScript, arguments::InnerCall, inner_calls::InnerCalls};
use crate::{
    code_execution::{
        CallBatch, CodePlace, RunningScript, ScriptCode, ScriptEnd, ScriptEvent, ScriptFailure,
        limits,
    },
    router::built_in::Call,
    text::some_of,
};

pub(super) struct Conversation<'a> {
    request: &'a ScriptRequest,
    calls: InnerCalls<'a>,
    logs: Vec<String>,
    logged: usize,
    tool_calls: usize,
    failed_calls: usize,
    /// The calls for which the script waits, in words, and the place in the script.
    waiting_for: Option<(String, CodePlace)>,
}

impl<'a> Conversation<'a> {
    pub(super) fn new(call: &'a Call<'a>, request: &'a ScriptRequest) -> Self {
        Self {
            request,
            calls: InnerCalls::of(call, request),
            logs: Vec::new(),
            logged: 0,
            tool_calls: 0,
            failed_calls: 0,
            waiting_for: None,
        }
    }

    /// Dropping the future withdraws the calls of the script and kills its process.
    pub(super) async fn carry_on(mut self, mut script: RunningScript) -> EndedScript {
        let deadline = script.deadline();
        let ended = timeout_at(deadline, self.until_it_ends(&mut script)).await;
        let end = ended.unwrap_or_else(|_| {
            let waiting_for = self.waiting_for.as_ref();
            let waiting_for = waiting_for.map(|(call, at)| (&**call, at));
            ScriptEnd::Failed(script.timed_out(waiting_for))
        });
        let end = checked(end);
        EndedScript {
            is_configured: self.request.is_configured(&end),
            end,
            logs: self.logs,
            tool_calls: self.tool_calls,
            failed_calls: self.failed_calls,
        }
    }

    async fn until_it_ends(&mut self, script: &mut RunningScript) -> ScriptEnd {
        loop {
            match script.next().await {
                ScriptEvent::Ended(end) => return end,
                ScriptEvent::Log(line) => {
                    if let Err(failure) = self.log(line) {
                        return failure.into();
                    }
                }
                ScriptEvent::Calls(batch) => match self.make(&batch).await {
                    // If the process has ended, its next event says so.
                    Ok(results) => drop(script.answer(&results).await),
                    Err(failure) => return failure.into(),
                },
            }
        }
    }

    fn log(&mut self, line: String) -> Result<(), ScriptFailure> {
        self.logged += line.len() + 1;
        if self.logged > limits::CONSOLE {
            let why = "the script logged more than mcpproxy keeps";
            return Err(ScriptFailure::new(ScriptCode::OutputLimitExceeded, why));
        }
        self.logs.push(line);
        Ok(())
    }

    /// Makes the calls of a batch, all of them or none.
    async fn make(&mut self, batch: &CallBatch) -> Result<Vec<u8>, ScriptFailure> {
        let count = batch.requests.len();
        if count > limits::BATCH {
            let most = limits::BATCH;
            let why = format!("{count} calls at once; at most {most} are allowed");
            return Err(ScriptFailure::new(ScriptCode::RuntimeError, why).at(batch.at.clone()));
        }
        let most = self.request.max_tool_calls;
        if let Some(most) = most.filter(|most| self.tool_calls + count > *most) {
            let why = format!("more calls than the script's limit of {most}");
            let failure = ScriptFailure::new(ScriptCode::MaxToolCallsExceeded, why);
            return Err(failure.at(batch.at.clone()));
        }
        self.tool_calls += count;
        let calls = batch.requests.iter().map(|call| InnerCall::read(call));
        let calls: Vec<Result<InnerCall, String>> = calls.collect();
        let right = calls.iter().flatten();
        let right = right.map(|call| format!("{}:{}", call.server, call.tool));
        let right: Vec<String> = right.collect();
        self.waiting_for = (!right.is_empty()).then(|| (some_of(&right, 1), batch.at.clone()));
        let answer = self.calls.make(&calls, batch.max_parallel).await;
        self.failed_calls += answer.failed;
        self.waiting_for = None;
        Ok(answer.json)
    }
}

/// The end of a script within the limits. The script's process checks them too, but is not trusted.
fn checked(end: ScriptEnd) -> ScriptEnd {
    let is_too_large = |value: &RawValue| value.get().len() > limits::VALUE;
    match end {
        ScriptEnd::Value(value) if is_too_large(&value) => {
            let why = "the value is larger than is allowed";
            ScriptFailure::new(ScriptCode::OutputLimitExceeded, why).into()
        }
        ScriptEnd::Failed(ScriptFailure {
            code,
            message,
            place,
        }) => {
            let stack = place.stack.chars().take(limits::SHOWN).collect();
            let place = CodePlace { stack, ..place };
            ScriptFailure::new(code, message).at(place).into()
        }
        end @ ScriptEnd::Value(_) => end,
    }
}
