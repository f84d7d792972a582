//! Event streams cut into pieces in every way.

use proptest::prelude::*;

use super::*;

/// Everything that can be seen of a stream which is read in the given pieces.
#[derive(Debug, PartialEq, Eq)]
struct Seen {
    events: Vec<(String, String)>,
    last_id: Option<String>,
    retry: Option<Duration>,
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn the_room_of_a_large_event_goes_with_it() {
    let mut parser = Parser::new(1 << 30);
    let large = format!("data: {}\n\ndata: ", "x".repeat(8 * KEPT_SIZE));
    for piece in large.as_bytes().chunks(1 << 14) {
        parser.feed(piece);
        let event = parser.next_event().expect("within the limit");
        assert!(event.is_none_or(|event| event.data.len() == 8 * KEPT_SIZE));
    }
    parser.feed(b"small\n\n");
    let event = parser.next_event().expect("within the limit");
    assert_eq!(event.expect("a whole one").data, "small");
    // What is taken in next finds no room that it could take up again.
    parser.feed(b"data: more");
    let room = parser.buffer.capacity();
    assert!(room < KEPT_SIZE, "{room}");
}

#[test]
fn what_belongs_to_no_event_is_counted() {
    let mut parser = Parser::new(1 << 20);
    for (text, events, passed_over) in [
        (": c\n\n".repeat(1000), 0, 5000),
        ("id: 1\nretry: 2\n\nevent: e\n\n".repeat(10), 0, 260),
        (": c\r\n".repeat(10), 0, 40),
        ("event: message\nid: 1\ndata: {}\n\n".repeat(10), 10, 210),
        ("data: {}\n\n".repeat(10), 10, 0),
    ] {
        parser.feed(text.as_bytes());
        let mut seen = 0;
        while parser.next_event().expect("within the limit").is_some() {
            seen += 1;
        }
        let counted = parser.take_passed_over();
        assert_eq!((seen, counted), (events, passed_over), "{text}");
    }
}

fn read<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Seen {
    let mut parser = Parser::new(1 << 20);
    let mut events = Vec::new();
    for piece in pieces {
        parser.feed(piece);
        while let Some(event) = parser.next_event().expect("small events") {
            let name = event.name.as_deref().map(text).unwrap_or_default();
            events.push((name, text(&event.data)));
        }
    }
    Seen {
        events,
        last_id: parser.last_id().map(|id| text(id)),
        retry: parser.retry(),
    }
}

#[track_caller]
fn check(stream: &str, events: &[&str]) {
    for size in [1, 2, 3, 7, 1000] {
        let seen = read(stream.as_bytes().chunks(size));
        let data: Vec<&str> = seen.events.iter().map(|(_, data)| data.as_str()).collect();
        assert_eq!(data, events, "{stream:?} in pieces of {size}");
    }
}

#[test]
fn any_line_end_ends_a_line() {
    check("data: a\n\ndata: b\n\n", &["a", "b"]);
    check("data: a\r\n\r\ndata: b\r\n\r\n", &["a", "b"]);
    check("data: a\r\rdata: b\r\r", &["a", "b"]);
    check("data: a\r\n\ndata: b\r\r\n\ndata: c\n\r", &["a", "b", "c"]);
}

#[test]
fn data_is_what_follows_the_colon_and_one_blank() {
    check("data:a\n\n", &["a"]);
    check("data:  a \n\n", &[" a "]);
    check("data: {\"a\": \"b:c\"}\n\n", &["{\"a\": \"b:c\"}"]);
    check("data: a\ndata\ndata: b\n\n", &["a\n\nb"]);
    check(
        "data: a\n: between\nid: 4\ndata: \u{e9}\u{1f600}\n\n",
        &["a\n\u{e9}\u{1f600}"],
    );
}

#[test]
fn what_is_no_data_is_no_event() {
    check("\n\n: hello\n\nid: 1\n\nevent: ping\n\n", &[]);
    check("data:\n\ndata\n\nid: 1\ndata: \n\n", &[]);
    check("Data: a\ndat: b\ndata : c\n\n", &[]);
    check("data: the end is missing\n", &[]);
    check("data: a\n\nfoo", &["a"]);
}

#[test]
fn a_byte_order_mark_counts_at_the_start_only() {
    check("\u{feff}data: a\n\n", &["a"]);
    check("data: a\n\n\u{feff}data: b\n\n", &["a"]);
    check("\u{feff}\u{feff}data: a\n\n", &[]);
}

#[test]
fn ids_and_retry_are_remembered() {
    let check = |stream: &str, id: Option<&str>, retry: Option<u64>| {
        let seen = read([stream.as_bytes()]);
        assert_eq!(seen.last_id.as_deref(), id, "{stream:?}");
        assert_eq!(seen.retry, retry.map(Duration::from_millis), "{stream:?}");
    };
    check("id: 1\nretry: 20\ndata:\n\n", Some("1"), Some(20));
    check("id: 1\n\n", Some("1"), None);
    check("id: 1\n\nid: 2\ndata: cut", Some("1"), None);
    check("id: 1\n\ndata: a\n\n", Some("1"), None);
    check("id: 1\n\nid\n\n", None, None);
    check("id: 1\n\nid: a\0b\n\n", Some("1"), None);
    check("retry: 2s\n", None, None);
    check("retry: -1\n", None, None);
    check("retry: 5\nretry: 99999999999999999999\n", None, Some(5));
}

#[test]
fn the_name_belongs_to_its_event() {
    let seen = read([&b"event: endpoint\ndata: /x\n\ndata: a\n\nevent: b\n\ndata: c\n\n"[..]]);
    let expected = [("endpoint", "/x"), ("", "a"), ("", "c")];
    assert_eq!(
        seen.events,
        expected.map(|(name, data)| (name.to_owned(), data.to_owned()))
    );
}

#[test]
fn an_empty_name_is_none() {
    let mut parser = Parser::new(1000);
    parser.feed(b"event: x\nevent:\ndata: a\n\n");
    let event = parser.next_event().expect("small").expect("an event");
    assert!(event.is_message());
}

#[test]
fn one_line_of_data_is_not_copied_again() {
    let mut parser = Parser::new(1000);
    parser.feed(b"data: abc\n\n");
    let at = parser.buffer.as_ptr() as usize;
    let event = parser.next_event().expect("small").expect("an event");
    assert_eq!(event.data.as_ptr() as usize, at + "data: ".len());
}

#[test]
fn the_limit_holds_in_pieces_and_in_whole() {
    let fits = format!("data: {}\n\n", "x".repeat(92));
    let large = format!("data: {}\n\n", "x".repeat(93));
    let comment = format!(": {}\ndata: a\n\n", "x".repeat(99));
    let many = format!("{}\n", "data\n".repeat(8));
    for size in [1, 10, 1000] {
        for (stream, expected) in [
            (&fits, true),
            (&large, false),
            (&comment, false),
            (&many, false),
        ] {
            let mut parser = Parser::new(100);
            let mut outcome = Ok(None);
            for piece in stream.as_bytes().chunks(size) {
                parser.feed(piece);
                outcome = parser.next_event();
                if outcome != Ok(None) {
                    break;
                }
            }
            assert_eq!(matches!(outcome, Ok(Some(_))), expected, "pieces of {size}");
            assert_eq!(outcome == Err(TooLarge), !expected, "pieces of {size}");
        }
    }
}

#[test]
fn what_is_too_large_is_passed_over_and_the_rest_read() {
    let large = format!("id: 7\nevent: x\ndata: {{\"id\":7,{}", "x".repeat(300));
    let streams = [
        format!("data: a\n\n{large}\n\ndata: b\n\n"),
        format!("data: a\n\n{large}\r\n\r\n: c\ndata: b\n\n"),
        format!("data: a\r\r{large}\rdata: more\r\rdata: b\r\r"),
        format!("data: a\n\n{large}\n: more\nid: 8\n\ndata: b\n\n"),
    ];
    for stream in &streams {
        for size in [1, 7, 99, 1000] {
            let mut parser = Parser::new(100);
            let mut seen = Vec::new();
            for piece in stream.as_bytes().chunks(size) {
                parser.feed(piece);
                loop {
                    match parser.next_event() {
                        Ok(Some(event)) => seen.push(text(&event.data)),
                        Ok(None) => break,
                        Err(TooLarge) => {
                            let beginning = text(&parser.skip());
                            assert!(beginning.starts_with("{\"id\":7,xxx"), "{beginning}");
                            seen.push("too large".to_owned());
                        }
                    }
                }
                assert!(parser.buffer.len() <= 100 + size);
            }
            assert_eq!(
                seen,
                ["a", "too large", "b"],
                "{stream:?} in pieces of {size}"
            );
            assert_eq!(parser.last_id(), None);
        }
    }
}

#[test]
fn comments_never_add_up_to_the_limit() {
    let mut parser = Parser::new(100);
    for _ in 0..1000 {
        parser.feed(b": still here\r\nid: 7\r\n");
        assert_eq!(parser.next_event(), Ok(None));
    }
    assert!(parser.buffer.len() < 10);
}

proptest! {
    #[test]
    fn the_same_events_come_however_the_stream_is_cut(
        lines in prop::collection::vec(
            prop_oneof![
                Just(String::new()),
                Just("\u{feff}".to_owned()),
                Just("data".to_owned()),
                "data: ?[a-z:{}\" é😀]{0,12}",
                "id: ?[0-9]{0,3}",
                "event: [a-z]{1,4}",
                "retry: [0-9a]{1,3}",
                ": ?[a-z]{0,4}",
                "[a-z:]{0,6}",
            ],
            0..24,
        ),
        ends in prop::collection::vec(prop::sample::select(vec!["\n", "\r\n", "\r"]), 24),
        cuts in prop::collection::vec(0_usize..400, 0..12),
    ) {
        let stream: String = lines.iter().zip(&ends).flat_map(|(l, e)| [l.as_str(), e]).collect();
        let stream = stream.as_bytes();
        let mut cuts: Vec<usize> = cuts.into_iter().map(|c| c.min(stream.len())).collect();
        cuts.extend([0, stream.len()]);
        cuts.sort_unstable();
        let pieces = cuts.windows(2).map(|w| &stream[w[0]..w[1]]);
        prop_assert_eq!(read(pieces), read([stream]));
    }

    #[test]
    fn no_bytes_upset_the_parser(stream in prop::collection::vec(any::<u8>(), 0..300), size in 1_usize..40) {
        let mut parser = Parser::new(64);
        for piece in stream.chunks(size) {
            parser.feed(piece);
            while let Ok(Some(_)) = parser.next_event() {}
        }
    }
}
