//! Requests a sign of life of a connected server. Servers with a handshake get a ping, or a request for a page of a list where they do not
//! know pings; those without one get `server/discover`. What silence means is the worker's to decide.

use std::time::Duration;

use futures_util::future::{BoxFuture, FutureExt};

use super::{
    control::{Control, Ping},
    own_requests,
};
use crate::{
    link::Link,
    wire::{Raw, Revision, method},
};

/// What came of it.
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

/// Asks. Each question has this deadline.
pub(in crate::upstream) fn ask(
    control: &Control,
    link: &Link,
    initialize: &Raw,
    revision: Revision,
    habit: PingHabit,
    deadline: Duration,
) -> BoxFuture<'static, SignOfLife> {
    let list = list_of(initialize).filter(|_| control.is_pinged());
    let link = link.clone();
    let listing = async move |method: &'static str| {
        let params = own_requests::params(revision, &[]);
        let answer = own_requests::ask(&link, method, &params);
        match tokio::time::timeout(deadline, answer).await {
            Ok(Ok(_)) => SignOfLife::List,
            Ok(Err(error)) => SignOfLife::Failed(format!("{method} failed: {error}")),
            Err(_) => SignOfLife::Silent(format!("no answer to {method}")),
        }
    };
    if let (PingHabit::Ignores, Some(method)) = (habit, list) {
        return async move { listing(method).await }.boxed();
    }
    let ping = control.ping(deadline);
    async move {
        match (ping.await, list) {
            (Ping::Answered, _) => SignOfLife::Pong,
            // It may be one that does not know pings.
            (_, Some(method)) if habit == PingHabit::Unknown => listing(method).await,
            (Ping::Unanswered(why), _) => SignOfLife::Silent(why),
            (Ping::Failed(why), _) => SignOfLife::Failed(why),
        }
    }
    .boxed()
}

/// A list that the server says it has.
fn list_of(initialize: &Raw) -> Option<&'static str> {
    let capabilities = initialize.get("capabilities")?;
    let lists = [
        ("tools", method::TOOLS_LIST),
        ("prompts", method::PROMPTS_LIST),
        ("resources", method::RESOURCES_LIST),
    ];
    let has = |key: &str| capabilities.get(key).is_some_and(|value| !value.is_null());
    let (_, method) = lists.into_iter().find(|(key, _)| has(key))?;
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
