//! What comes on the stream besides answers, and how it ends.

use super::*;

#[tokio::test]
async fn news_and_questions_are_the_workers() {
    let mut server = Server::start().await;
    let mut client = Client::to(&server).await;
    server.say(": ping\n\nevent: ping\ndata: now\n\ndata: \n\n");
    server.say_frame("nonsense");
    server.say_frame(r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#);
    let news = client.next_news().await;
    assert!(matches!(news, News::Notification(_)), "{news:?}");
    server.say_frame(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#);
    let News::Question(question) = client.next_news().await else {
        panic!("no question");
    };
    let pong = Outcome::Result(Raw::empty_object());
    let answered = client.link.answer(&question.id, &pong).await;
    answered.expect("it is taken");
    server.odd.sees("GET").await;
    let answer = server.odd.sees("POST").await;
    assert_eq!(&answer.body[..], br#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
}

#[tokio::test]
async fn everything_in_flight_is_lost_with_the_stream() {
    let mut server = Server::start().await;
    let mut client = Client::to(&server).await;
    let mut call = client.call(1).await.expect("taken");
    server.hang_up();
    let error = last(&mut call).await.expect_err("the stream is over");
    assert!(matches!(error, LinkError::Lost(_)), "{error}");
    assert_eq!(client.farewell().await, "the stream ended");
    let error = client.call(2).await.err();
    assert!(
        matches!(error, Some(LinkError::NotDelivered(_))),
        "{error:?}"
    );
}

#[tokio::test]
async fn a_link_that_is_closed_or_dropped_ends() {
    let server = Server::start().await;
    let client = Client::to(&server).await;
    let mut call = client.call(1).await.expect("taken");
    soon(client.link.close()).await;
    let error = last(&mut call).await.expect_err("it is closed");
    assert!(matches!(error, LinkError::Lost(_)), "{error}");
    let stream = server.stream.as_ref().expect("not ended");
    soon(stream.closed()).await;

    let server = Server::start().await;
    let client = Client::to(&server).await;
    let mut call = client.call(1).await.expect("taken");
    let link = client.link.clone();
    drop(client);
    let error = last(&mut call).await.expect_err("nobody reads");
    assert!(matches!(error, LinkError::Lost(_)), "{error}");
    assert!(link.notify("a", None).await.is_err());
}

#[tokio::test]
async fn a_silent_stream_is_taken_for_dead_while_somebody_waits() {
    let server = Server::start().await;
    let mut client = Client::to(&server).await;
    // Time flies from here on: it stands still while there is work, and jumps when there is none.
    tokio::time::pause();
    tokio::time::sleep(std::time::Duration::from_hours(1)).await;
    tokio::time::resume();
    let call = client.call(1).await.expect("an idle stream may be silent");
    tokio::time::pause();
    let error = call
        .slot()
        .next()
        .await
        .expect_err("nothing came for a long time");
    assert!(matches!(error, LinkError::Lost(_)), "{error}");
    assert!(client.farewell().await.contains("silent"));
}
