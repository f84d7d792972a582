//! Requests a sign of life from a connected server. Servers with a handshake get a ping, or a list request if they do not know pings; those
//! without a handshake get `server/discover`. The worker decides what silence means.

use std::time::Duration;

use futures_util::future::{BoxFuture, FutureExt};

use super::{lists::has_list, own_requests};
use crate::{
    link::{Link, LinkError},
    wire::{Outcome, Raw, Revision, RpcError, method},
};

/// The outcome of the request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::upstream) enum SignOfLife {
    /// It answered.
    Pong,
    /// It answered a list request, and not a ping.
    List,
    /// It did not answer in time; in words for the operator.
    Silent(String),
    /// The connection failed, or the server is another one now; in words for the operator.
    Failed(String),
}

/// What is known of how a server takes pings.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::upstream) enum PingHabit {
    /// It has not been pinged yet.
    #[default]
    Unknown,
    /// It answers them.
    Answers,
    /// It does not know them.
    Ignores,
}

/// Requests a sign of life. Each request has this deadline.
pub(in crate::upstream) fn ask(
    link: &Link,
    initialize: &Raw,
    revision: Revision,
    habit: PingHabit,
    deadline: Duration,
) -> BoxFuture<'static, SignOfLife> {
    let is_pinged = revision.may_have_method(method::PING);
    let list = list_of(initialize).filter(|_| is_pinged);
    let link = link.clone();
    let request = async move |method: &'static str| {
        let params = own_requests::params(revision, &[]);
        let answer = own_requests::ask(&link, method, &params);
        match tokio::time::timeout(deadline, answer).await {
            Ok(answer) => sign_of(method, answer),
            Err(_) => SignOfLife::Silent(format!("no answer to {method}")),
        }
    };
    async move {
        match (habit, list) {
            _ if !is_pinged => request(method::DISCOVER).await,
            (PingHabit::Ignores, Some(list)) => request(list).await,
            (PingHabit::Unknown, Some(list)) => match request(method::PING).await {
                SignOfLife::Pong => SignOfLife::Pong,
                // It may be one that does not know pings.
                _ => request(list).await,
            },
            _ => request(method::PING).await,
        }
    }
    .boxed()
}

/// The sign of life that an answer is. An error of the server is one, too, except to `server/discover`.
fn sign_of(method: &'static str, answer: Result<Outcome, LinkError>) -> SignOfLife {
    let failed =
        |why: &dyn std::fmt::Display| SignOfLife::Failed(format!("{method} failed: {why}"));
    match (method, answer) {
        // Who describes itself otherwise than it did has been replaced by a server of another era: it is to be met anew.
        (method::DISCOVER, Ok(Outcome::Error(error))) => {
            if RpcError::code_in(&error) == Some(RpcError::INTERNAL) {
                SignOfLife::Pong
            } else {
                failed(&"it no longer speaks the revision that it spoke before")
            }
        }
        // Whatever comes back to a ping, readable or not, comes from somebody alive.
        (method::PING | method::DISCOVER, Ok(_)) | (method::PING, Err(LinkError::Broken(_))) => {
            SignOfLife::Pong
        }
        (method::PING, Err(LinkError::Status { status, .. }))
            if (400..500).contains(&status) && !matches!(status, 401 | 403) =>
        {
            SignOfLife::Pong
        }
        (_, Ok(_)) => SignOfLife::List,
        (_, Err(error)) => failed(&error),
    }
}

/// The method of a list that the server says it has.
fn list_of(initialize: &Raw) -> Option<&'static str> {
    let lists = [
        ("tools", method::TOOLS_LIST),
        ("prompts", method::PROMPTS_LIST),
        ("resources", method::RESOURCES_LIST),
    ];
    let mut all = lists.into_iter();
    let (_, method) = all.find(|(key, _)| has_list(initialize, key))?;
    Some(method)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_list_that_there_is_serves() {
        let check = |capabilities: &str, expected| {
            let text = format!(r#"{{"capabilities":{capabilities}}}"#);
            let initialize = Raw::parse_str(&text).expect("JSON");
            assert_eq!(list_of(&initialize), expected, "{capabilities}");
        };
        check(r#"{"prompts":{},"tools":{}}"#, Some(method::TOOLS_LIST));
        check(r#"{"prompts":{},"tools":null}"#, Some(method::PROMPTS_LIST));
        check(
            r#"{"resources":{"subscribe":true}}"#,
            Some(method::RESOURCES_LIST),
        );
        check(r#"{"logging":{}}"#, None);
    }
}
