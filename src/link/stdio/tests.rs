//! The link against a server played by hand.

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, duplex};

use super::{super::Incoming, *};

/// The link, and the server's ends of the pipes.
fn linked() -> (Connection<StdioLink>, DuplexStream, DuplexStream) {
    let (stdin, their_input) = duplex(1 << 16);
    let (their_output, stdout) = duplex(1 << 16);
    let ended = std::future::pending::<String>();
    (
        connect(
            stdin,
            stdout,
            ended,
            RequestNumbers::default(),
            Noise::default(),
        ),
        their_input,
        their_output,
    )
}

fn sent(link: &StdioLink, number: u64) -> Result<StdioExchange, LinkError> {
    link.call(number, "tools/call", None, Purpose::Call)
}

async fn end_of(call: &StdioExchange) -> Result<Incoming, LinkError> {
    let patience = Duration::from_secs(10);
    let end = tokio::time::timeout(patience, call.slot().next()).await;
    end.expect("a call must not hang")
}

#[tokio::test]
async fn whoever_waits_hears_when_the_link_is_dropped() {
    let (made, _input, _output) = linked();
    let call = sent(&made.link, 1).expect("open");
    drop(made.tasks);
    assert!(matches!(end_of(&call).await, Err(LinkError::Lost(_))));
    let late = sent(&made.link, 2);
    assert!(matches!(late, Err(LinkError::NotDelivered(_))));
}

#[tokio::test]
async fn a_server_that_closes_its_input_is_lost() {
    let (mut made, input, mut output) = linked();
    let answered = sent(&made.link, 1).expect("open");
    let lost = sent(&made.link, 2).expect("open");
    let mut lines = BufReader::new(input);
    let mut line = String::new();
    lines.read_line(&mut line).await.expect("a request");
    drop(lines);
    made.link.notify("notifications/x", None).expect("open");
    output
        .write_all(b"{\"id\":\"p1\",\"result\":{}}\n")
        .await
        .expect("the output is open");
    assert!(matches!(end_of(&answered).await, Ok(Incoming::Answer(_))));
    assert!(matches!(end_of(&lost).await, Err(LinkError::Lost(_))));
    assert!(matches!(made.news.recv().await, Some(News::Closed(_))));
}

#[tokio::test]
async fn a_server_that_ends_no_line_is_given_up() {
    let (mut made, _input, mut output) = linked();
    let call = sent(&made.link, 1).expect("open");
    let piece = vec![b'x'; 1 << 20];
    while output.write_all(&piece).await.is_ok() {}
    assert!(matches!(end_of(&call).await, Err(LinkError::Endless(64))));
    assert!(matches!(made.news.recv().await, Some(News::Closed(_))));
}

#[tokio::test]
async fn answers_that_come_together_are_told_apart() {
    let (made, _input, mut output) = linked();
    let calls: Vec<_> = (1..=2)
        .map(|n| sent(&made.link, n).expect("open"))
        .collect();
    output
        .write_all(b"[{\"id\":\"p2\",\"result\":2},{\"id\":\"p1\",\"result\":1},7]\n")
        .await
        .expect("the output is open");
    for (call, expected) in calls.iter().zip(["1", "2"]) {
        let Ok(Incoming::Answer(Outcome::Result(result))) = end_of(call).await else {
            panic!("an answer")
        };
        assert_eq!(result.as_str(), expected);
    }
}

#[tokio::test]
async fn an_error_without_id_ends_the_only_call_and_a_result_without_id_none() {
    for (first, is_answered) in [
        ("{\"id\":null,\"result\":{}}", true),
        (
            "{\"id\":null,\"error\":{\"code\":1,\"message\":\"m\"}}",
            false,
        ),
    ] {
        let (made, _input, mut output) = linked();
        let call = sent(&made.link, 1).expect("open");
        let lines = format!("{first}\n{{\"id\":\"p1\",\"result\":{{}}}}\n");
        output.write_all(lines.as_bytes()).await.expect("open");
        let end = end_of(&call).await;
        assert_eq!(
            matches!(end, Ok(Incoming::Answer(_))),
            is_answered,
            "{first}"
        );
    }
}

#[tokio::test]
async fn notices_that_nobody_reads_take_bounded_room() {
    let (made, _input, mut output) = linked();
    let call = sent(&made.link, 1).expect("open");
    let filler = "x".repeat(1 << 20);
    let notice = format!(
        "{{\"method\":\"notifications/progress\",\"params\":{{\"progressToken\":\"p1\",\"m\":\"{filler}\"}}}}\n"
    );
    for _ in 0..40 {
        output.write_all(notice.as_bytes()).await.expect("open");
    }
    output
        .write_all(b"{\"id\":\"p1\",\"result\":{}}\n")
        .await
        .expect("open");
    let mut notices = 0;
    // Read only once everything has arrived.
    while made.link.0.in_flight.only().is_some() {
        tokio::task::yield_now().await;
    }
    while let Ok(Incoming::Notice(_)) = end_of(&call).await {
        notices += 1;
    }
    assert!((1..40).contains(&notices), "{notices} were kept");
}

#[tokio::test]
async fn the_last_line_needs_no_line_end_and_counts_for_nothing_when_it_is_torn_off() {
    for (last, is_answered) in [
        ("{\"id\":\"p1\",\"result\":{}}", true),
        ("{\"id\":\"p1\",\"res", false),
    ] {
        let (made, _input, mut output) = linked();
        let call = sent(&made.link, 1).expect("open");
        output.write_all(last.as_bytes()).await.expect("open");
        drop(output);
        match end_of(&call).await {
            Ok(Incoming::Answer(_)) => assert!(is_answered, "{last}"),
            Err(LinkError::Lost(_)) => assert!(!is_answered, "{last}"),
            other => panic!("{last}: {other:?}"),
        }
    }
}

#[tokio::test]
async fn a_request_knows_the_last_line_that_is_no_message_since_it_was_sent() {
    let (made, _input, mut output) = linked();
    let first = sent(&made.link, 1).expect("open");
    output.write_all(b"what\noops\n").await.expect("open");
    while made.link.0.noise.lines() < 2 {
        tokio::task::yield_now().await;
    }
    let words = "it wrote \"oops\" to its stdout, which is not MCP";
    assert_eq!(first.noise(), words);
    let second = sent(&made.link, 2).expect("open");
    assert_eq!(second.noise(), "");
}
