//! Step 5 of `mcpproxy setup`: waits for the servers' tools, and makes a test call over HTTP at the address of clients.

use std::{
    net::SocketAddr,
    time::{Duration, Instant},
};

use http::StatusCode;
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use super::{
    super::{CommandFailure, Done, Output, connection, output},
    SetupReport,
    report::{ProofRow, say_step},
};
use crate::{
    config::{ANONYMOUS, Provider},
    daemon_client::{self, DaemonClient, DaemonError},
    doctor,
    failure::ErrorCode,
    gate::Standing,
    management::{Files, ServerList, ServerRow, ServerState},
    storage::in_words,
    text::some_of,
};

/// How long to wait for the servers' tools. A first start may download for minutes, which should not keep the terminal busy.
const LISTED_WITHIN: Duration = Duration::from_secs(20);

/// How many awaited servers are named.
const MOST_NAMED: usize = 3;

/// Between two requests for the servers' states.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// How long the test call may take. It is a search, which takes milliseconds.
const ANSWERS_WITHIN: Duration = Duration::from_secs(10);

/// Makes the test call.
pub(super) async fn call(
    files: &Files,
    daemon: &DaemonClient,
    report: &mut SetupReport,
    out: Output,
) -> Done {
    let location = connection::location_of(daemon);
    let Some(address) = location.and_then(|location| location.listen.first().copied()) else {
        say_step(5, "call: none, the daemon does not serve HTTP", out);
        return Ok(());
    };
    let token = std::env::var("MCPPROXY_TOKEN").ok();
    let token = token.filter(|token| !token.is_empty());
    let settings = files.supposed_settings().map(|found| found.settings);
    let auth = settings.ok().and_then(|settings| settings.server_auth);
    let needs_token = auth.is_some_and(|auth| auth.providers.contains(&Provider::Bearer));
    if needs_token && token.is_none() {
        let why = "call: skipped, because clients need a token; set MCPPROXY_TOKEN, then `mcpproxy setup`";
        say_step(5, why, out);
        return Ok(());
    }
    let began = Instant::now();
    let answer = timeout(ANSWERS_WITHIN, ask(address, token.as_deref())).await;
    let answer = answer.unwrap_or_else(|_| Err(CommandFailure::failed("no answer in time")));
    answer.map_err(|why| not_called(why, token.is_some()))?;
    let milliseconds = began.elapsed().as_secs_f64() * 1_000.0;
    report.proof = Some(ProofRow {
        url: format!("http://{address}/mcp"),
        tool: "retrieve_tools",
        milliseconds,
    });
    let (tools, held) = (report.callable_tools, report.held_tools);
    let held = held.map(|held| {
        let s = if held == 1 { "s" } else { "" };
        format!(", {held} more await{s} your review: `mcpproxy upstream list`")
    });
    let (tools, held) = (output::count(tools, "tool"), held.unwrap_or_default());
    let text =
        format!("call: retrieve_tools answered in {milliseconds:.0} ms; {tools} to search{held}");
    say_step(5, &text, out);
    Ok(())
}

/// The failure of the test call.
fn not_called(why: CommandFailure, has_token: bool) -> CommandFailure {
    let is_token = has_token && why.code == Some(ErrorCode::Unauthorized);
    let with = if is_token {
        " with $MCPPROXY_TOKEN"
    } else {
        ""
    };
    let outcome = format!("everything is set up, but the call to retrieve_tools{with} failed");
    let denied = format!("`mcpproxy access check {ANONYMOUS} retrieve_tools` shows why");
    let step = match why.code {
        _ if is_token => {
            "`mcpproxy token add NAME`, then set MCPPROXY_TOKEN to its token, or unset it"
        }
        Some(ErrorCode::AccessDenied) if !has_token => &denied,
        _ => "`mcpproxy doctor` says what is wrong",
    };
    why.undone(&outcome).or_next(step)
}

/// Calls `retrieve_tools`. The request has no session, so its answer is plain JSON.
async fn ask(address: SocketAddr, token: Option<&str>) -> Done {
    let body = json!({
        "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": { "name": "retrieve_tools", "arguments": { "query": "list", "limit": 1, "detail": "compact" } },
    })
    .to_string();
    let token = token
        .map(|token| format!("Authorization: Bearer {token}\r\n"))
        .unwrap_or_default();
    let request = format!(
        "POST /mcp HTTP/1.0\r\nHost: {address}\r\nContent-Type: application/json\r\nAccept: application/json\r\n{token}Content-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let answer = doctor::answer_to(&request, address).await;
    let answer = answer.map_err(|error| CommandFailure::failed(in_words(&error)))?;
    let odd = || CommandFailure::failed("the answer could not be understood");
    let (head, body) = answer.split_once("\r\n\r\n").ok_or_else(odd)?;
    let status = head.split(' ').nth(1);
    let status = status.and_then(|code| code.parse::<StatusCode>().ok());
    let status = status.ok_or_else(odd)?;
    let refused = |text: &str| {
        let mut refusal = daemon_client::refusal(status, text.as_bytes());
        // It is for models.
        refusal.hint = None;
        CommandFailure::from(DaemonError::Refused(refusal))
    };
    if status != StatusCode::OK {
        return Err(refused(body));
    }
    let answer: Value = serde_json::from_str(body).map_err(|_| odd())?;
    let result = answer.get("result").ok_or_else(|| refused(body))?;
    if result.get("isError") == Some(&Value::Bool(true)) {
        let text = result.pointer("/content/0/text").and_then(Value::as_str);
        return Err(refused(text.unwrap_or_default()));
    }
    Ok(())
}

/// Waits until the tools of every usable server are known or the server has failed, but not for ever.
pub(super) async fn wait_until_listed(
    daemon: &mut DaemonClient,
    report: &mut SetupReport,
    out: Output,
) -> Done {
    let deadline = Instant::now() + LISTED_WITHIN;
    let mut shown = 0;
    loop {
        let list: ServerList = daemon.fetch("/api/v1/servers").await?;
        let servers = list.servers.iter().filter(|row| is_awaited(row));
        let waiting: Vec<&str> = servers.map(|row| &*row.name).collect();
        let left = deadline.saturating_duration_since(Instant::now());
        if waiting.is_empty() || left.is_zero() {
            let status = daemon.fetch("/api/v1/status").await?;
            report.take_servers(&list.servers, waiting.len(), &status);
            return Ok(());
        }
        if waiting.len() != shown {
            shown = waiting.len();
            let text = waiting_for(&waiting, list.servers.len());
            out.progress(&format!("{text}, {} s at most", left.as_secs() + 1));
        }
        sleep(POLL_INTERVAL).await;
    }
}

/// `waiting for the tools of a, b and 3 more (5 of 7)`.
fn waiting_for(waiting: &[&str], of: usize) -> String {
    let n = waiting.len();
    let named = some_of(waiting, MOST_NAMED);
    format!("waiting for the tools of {named} ({n} of {of})")
}

/// Whether the tools of a server may become known in a moment.
fn is_awaited(row: &ServerRow) -> bool {
    let is_listed = row.tools.is_some_and(|tools| tools > 0);
    let is_on_its_way = match row.state {
        ServerState::Connecting => true,
        ServerState::Disconnected => !is_listed,
        _ => false,
    };
    row.standing() == Standing::Usable && is_on_its_way && row.last_error.is_none()
}

#[cfg(test)]
mod tests {
    #[test]
    fn awaited_servers_are_named() {
        let check = |waiting: &[&str], expected: &str| {
            let expected = format!("waiting for the tools of {expected}");
            assert_eq!(super::waiting_for(waiting, 5), expected);
        };
        check(&["a"], "a (1 of 5)");
        check(&["a", "b", "c"], "a, b, c (3 of 5)");
        check(&["a", "b", "c", "d"], "a, b, c and 1 more (4 of 5)");
    }
}
