//! The notifications for the client while its script runs: the progress of all calls in the script, under the one token of the client and in
//! one rising count; and all other notifications and questions of the servers, unchanged.

use std::{collections::BTreeMap, sync::Arc};

use bytes::Bytes;
use futures_util::future::BoxFuture;
use serde::Serialize;

use crate::{
    call_context::{CallContext, ClientReceiver, ClientSender},
    router::built_in::Call,
    runtime::{memory_budget::MemoryBudget, sync::Guarded},
    wire::{Edit, Raw, Revision, meta, method, notification_frame, splice},
};

/// Limit: bytes that wait to be passed on to the client.
const WAITING: usize = 4 << 20;

/// Limit: characters of a server's progress message.
const MESSAGE: usize = 300;

pub(super) struct Progress<'a> {
    outer: &'a CallContext,
    /// The context of the calls in the script.
    inner: CallContext,
    notices: ClientReceiver,
    /// The client's progress token.
    token: Option<Raw>,
    /// The members of `_meta` that make each call part of the client's trace.
    trace: Vec<(&'static str, Raw)>,
    /// Whether the client wants log lines of servers.
    hears_logs: bool,
    counts: Guarded<Counts>,
}

#[derive(Default)]
struct Counts {
    /// How many notifications were sent.
    sent: u64,
    /// How many calls are done.
    done: u64,
    /// How many tokens were given to calls.
    given: u64,
    /// The tools of the calls that run together, as `server:tool`, by the tokens of the calls.
    names: BTreeMap<u64, String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ProgressParams<'a> {
    progress_token: &'a Raw,
    progress: u64,
    message: &'a str,
}

impl<'a> Progress<'a> {
    pub(super) fn of(call: &Call<'a>) -> Self {
        let outer = call.context;
        let (to_client, notices) = ClientSender::new(&MemoryBudget::of(WAITING));
        let mut inner = outer.clone();
        let mut hears_logs = true;
        if outer.to_client.is_open() {
            inner.to_client = to_client;
        }
        if !outer.revision.has_server_requests() {
            // Such a client answers questions by repeating the call, and a script cannot continue where it stopped. So servers see a client
            // that answers no questions.
            inner.revision = Revision::NEWEST_LEGACY;
            inner.client = Arc::new(outer.client.in_script());
            hears_logs = outer.log_level.is_some();
        }
        let meta = call.params.get(meta::META);
        let of_trace = |key| Some((key, meta.as_ref()?.get(key)?));
        let trace = [meta::TRACEPARENT, meta::TRACESTATE].into_iter();
        let trace = trace.filter_map(of_trace).collect();
        Self {
            outer,
            inner,
            notices,
            token: meta.and_then(|meta| meta.get(meta::PROGRESS_TOKEN)),
            trace,
            hears_logs,
            counts: Guarded::default(),
        }
    }

    /// The context of the calls in the script.
    pub(super) fn context(&self) -> &CallContext {
        &self.inner
    }

    /// The params of a call of the script, without name and arguments.
    pub(super) fn params(&self, server: &str, tool: &str) -> Raw {
        let of_trace = self.trace.iter();
        let mut members: Vec<(&str, Edit<'_>)> = of_trace
            .map(|(key, value)| (*key, Edit::Set(value.clone())))
            .collect();
        if self.token.is_some() {
            let mut counts = self.counts.lock();
            counts.given += 1;
            let number = counts.given;
            counts.names.insert(number, format!("{server}:{tool}"));
            members.push((meta::PROGRESS_TOKEN, Edit::Set(Raw::author(&number))));
        }
        let nothing = Raw::empty_object();
        if members.is_empty() {
            return nothing;
        }
        let of_meta = splice(&nothing, &members).map(|meta| [(meta::META, Edit::Set(meta))]);
        let params = of_meta.and_then(|edits| splice(&nothing, &edits));
        params.unwrap_or(nothing)
    }

    /// Runs the calls, and passes on notifications of their servers meanwhile.
    pub(super) async fn with_progress(&self, mut calls: BoxFuture<'_, ()>) {
        loop {
            tokio::select! {
                biased;
                frame = self.notices.next() => self.pass_on(frame),
                () = &mut calls => break,
            }
        }
        while let Some(frame) = self.notices.take() {
            self.pass_on(frame);
        }
        self.counts.lock().names.clear();
    }

    /// Reports that one more call is done, and why it failed, which the script may not tell. Earlier notifications of its server go first.
    pub(super) fn count(&self, failure: Option<&str>) {
        while let Some(frame) = self.notices.take() {
            self.pass_on(frame);
        }
        let done = {
            let mut counts = self.counts.lock();
            counts.done += 1;
            counts.done
        };
        let calls = if done == 1 { "call" } else { "calls" };
        let failed = failure.map(|why| format!("; the last failed: {why}"));
        let failed = failed.unwrap_or_default();
        self.report(&format!("{done} {calls} done{failed}"));
    }

    fn report(&self, message: &str) {
        let Some(token) = &self.token else { return };
        let mut counts = self.counts.lock();
        counts.sent += 1;
        let params = Raw::author(&ProgressParams {
            progress_token: token,
            progress: counts.sent,
            message,
        });
        // Under the lock, so that what comes later counts higher.
        let frame = notification_frame(method::PROGRESS, Some(&params));
        self.outer.to_client.send(frame);
    }

    fn pass_on(&self, frame: Bytes) {
        let Ok(message) = Raw::parse(&frame) else {
            return;
        };
        let method = message.get("method").and_then(|method| method.string());
        match method.as_deref() {
            Some(method::PROGRESS) => {
                if let Some(params) = message.get("params") {
                    self.report(&self.message_of(&params));
                }
            }
            Some(method::LOG_MESSAGE) if !self.hears_logs => (),
            _ => self.outer.to_client.send(frame),
        }
    }

    /// `server:tool: message (3 of 10)`.
    fn message_of(&self, params: &Raw) -> String {
        let number = params.get(meta::PROGRESS_TOKEN);
        let number = number.and_then(|number| number.as_str().parse().ok());
        let name = number.and_then(|number: u64| self.counts.lock().names.get(&number).cloned());
        let mut text = name.unwrap_or_else(|| "a call".to_owned());
        if let Some(message) = params.get("message").and_then(|message| message.string()) {
            text.push_str(": ");
            text.extend(message.chars().take(MESSAGE));
        }
        text.push_str(&reached(params).unwrap_or_default());
        text
    }
}

/// Bytes of a number in a message.
const NUMBER: usize = 24;

/// ` (3 of 10)`. Numbers alone, as they were written: what else a server sends may be of any length.
fn reached(params: &Raw) -> Option<String> {
    let number = |key| {
        let number = params.get(key)?;
        let value: f64 = number.as_str().parse().ok()?;
        let is_shown = value.is_finite() && number.as_str().len() <= NUMBER;
        is_shown.then(|| number.as_str().to_owned())
    };
    let total = number("total").map_or_else(String::new, |total| format!(" of {total}"));
    Some(format!(" ({}{total})", number("progress")?))
}

#[cfg(test)]
mod tests {
    use super::reached;
    use crate::wire::Raw;

    #[test]
    fn progress_is_a_number_or_not_shown() {
        for (params, expected) in [
            (r#"{"progress":3,"total":10}"#, Some(" (3 of 10)")),
            (r#"{"progress":0.5,"total":"many"}"#, Some(" (0.5)")),
            (r#"{"progress":1e999}"#, None),
            (r#"{"progress":"3"}"#, None),
            (r#"{"progress":{"at":3},"total":10}"#, None),
            (r#"{"total":10}"#, None),
        ] {
            let params = Raw::parse_str(params).expect(params);
            assert_eq!(reached(&params).as_deref(), expected);
        }
    }
}
