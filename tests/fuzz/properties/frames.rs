//! Frames: what we read is what stands there, and what we write reads back.

use bytes::Bytes;
use mcpproxy::{
    trust::fingerprint::Fingerprint,
    wire::{
        Elements, FrameError, Id, IdFinder, Members, Message, Outcome, Raw, error_frame,
        notification_frame, parse_client, request_frame,
    },
};

use super::{json, ways::Ways};

/// Longer ids are not remembered by the finder.
const LONGEST_FOUND_ID: usize = 256;

/// Limit: values inside one another that are walked, and prefixes that are tried, for the sake of speed.
const WALKS: usize = 64;

/// Any bytes as a frame.
pub fn check(input: &[u8]) {
    check_in(Ways::All, input);
}

/// With the id looked for in some of its parts.
pub fn check_in(ways: Ways, input: &[u8]) {
    let frame = Bytes::copy_from_slice(input);
    walks_stay_inside(input);
    if let Ok(value) = Raw::parse(&frame) {
        walks_agree(&value);
        // The outcome does not matter here, only that there is one.
        let _ = Fingerprint::of_tool(&value);
    }
    match Message::parse(&frame) {
        Ok(message) => {
            the_finder_agrees(ways, input, id_of(&message));
            written_reads_back(&message);
        }
        Err(error) => {
            a_refusal_can_be_said(&error);
            // Nothing is known of the id, but looking for it has to end.
            let _ = find_id(input, 7);
        }
    }
    clients_are_read_alike(&frame);
}

/// On text that may be no JSON at all.
fn walks_stay_inside(text: &[u8]) {
    let mut end = 0;
    for member in Members::of(text) {
        // Without a comma between them they touch.
        assert!(end <= member.key.start && member.key.end < member.value.start);
        end = member.value.end;
        assert!(end <= text.len());
        let named = member.name(text);
        assert!(named.is_none_or(|name| member.is(text, &name)));
    }
    end = 0;
    for element in Elements::of(text) {
        assert!(end <= element.value.start && element.value.end <= text.len());
        end = element.value.end;
    }
}

/// Our walks see what serde sees, at every depth.
fn walks_agree(value: &Raw) {
    let mut values = vec![value.clone()];
    for _ in 0..WALKS {
        let Some(value) = values.pop() else { return };
        let text = value.as_bytes();
        let members: Vec<(&[u8], &[u8])> = value
            .members()
            .map(|member| (&text[member.key], &text[member.value]))
            .collect();
        let expected = json::members(text).unwrap_or_default();
        let expected_text: Vec<(&[u8], &[u8])> = expected
            .iter()
            .map(|member| (member.key.as_bytes(), member.value.as_bytes()))
            .collect();
        assert_eq!(members, expected_text);
        for name in expected.iter().filter_map(json::Member::name) {
            let first = expected
                .iter()
                .find(|member| member.name().as_ref() == Some(&name));
            let found = value.get(&name);
            assert_eq!(
                found.as_ref().map(Raw::as_str),
                first.map(|member| member.value)
            );
        }
        let elements: Vec<Raw> = value.elements().collect();
        let found: Vec<&str> = elements.iter().map(Raw::as_str).collect();
        assert_eq!(found, json::elements(text).unwrap_or_default());
        values.extend(elements);
        values.extend(value.members().map(|member| value.part(member.value)));
    }
}

fn find_id(text: &[u8], piece: usize) -> Option<Id> {
    let mut finder = IdFinder::default();
    text.chunks(piece).for_each(|chunk| finder.feed(chunk));
    finder.finish()
}

/// The finder names the request that the whole message names, from a part of it too: none or that one, never another.
fn the_finder_agrees(ways: Ways, text: &[u8], id: Option<&Id>) {
    let expected = id.filter(|id| id.as_bytes().len() <= LONGEST_FOUND_ID);
    for piece in [1, 5, text.len()] {
        assert_eq!(find_id(text, piece).as_ref(), expected);
    }
    // Half a number is a number as well, and nobody can tell.
    let is_number = id.is_some_and(|id| !id.as_bytes().starts_with(b"\""));
    let ends: Vec<usize> = (0..text.len()).take(WALKS).collect();
    for &end in ways.among(if is_number { &[] } else { &ends }) {
        let found = find_id(&text[..end], 5);
        assert!(found.is_none() || found.as_ref() == expected);
    }
}

fn id_of(message: &Message) -> Option<&Id> {
    match message {
        Message::Request(request) => Some(&request.id),
        Message::Notification(_) => None,
        Message::Response(response) => response.id.as_ref(),
    }
}

/// Everything that a message says.
fn said(message: &Message) -> (Option<&Id>, Option<&str>, &str, Option<&Raw>) {
    match message {
        Message::Request(request) => (
            Some(&request.id),
            Some(&request.method),
            "params",
            request.params.as_ref(),
        ),
        Message::Notification(notice) => {
            (None, Some(&notice.method), "params", notice.params.as_ref())
        }
        Message::Response(response) => match &response.outcome {
            Outcome::Result(result) => (response.id.as_ref(), None, "result", Some(result)),
            Outcome::Error(error) => (response.id.as_ref(), None, "error", Some(error)),
        },
    }
}

fn written_reads_back(message: &Message) {
    let written = match message {
        Message::Request(request) => {
            request_frame(&request.id, &request.method, request.params.as_ref()).joined()
        }
        Message::Notification(notice) => notification_frame(&notice.method, notice.params.as_ref()),
        Message::Response(response) => match (&response.id, &response.outcome) {
            (Some(id), _) => response.frame_for(id),
            (None, Outcome::Error(error)) => error_frame(None, error),
            // A result for nobody is passed on to nobody.
            (None, Outcome::Result(_)) => return,
        },
    };
    match parse_client(&written) {
        Ok((members, _)) => {
            let read = members[0].as_ref().expect("what we write is a message");
            assert_eq!(said(read), said(message));
        }
        // Clients may say less without an id than servers.
        Err(FrameError::NoId) => {
            let method = said(message).1.expect("a notification");
            assert!(!method.starts_with("notifications/"), "{method}");
        }
        Err(error) => panic!("what we write is JSON: {error}"),
    }
}

fn a_refusal_can_be_said(error: &FrameError) {
    let raw = error.to_rpc_error().to_raw();
    Raw::parse(raw.bytes()).expect("an error object is JSON");
}

/// What a client sends is read as what an upstream sends, only more strictly.
fn clients_are_read_alike(body: &Bytes) {
    let (members, is_batch) = match parse_client(body) {
        Ok(read) => read,
        Err(error) => return a_refusal_can_be_said(&error),
    };
    let whole = Raw::parse(body).expect("what was read is JSON");
    let texts: Vec<Raw> = if is_batch {
        whole.elements().collect()
    } else {
        vec![whole]
    };
    assert_eq!(members.len(), texts.len());
    for (member, text) in members.iter().zip(&texts) {
        match member {
            Ok(message) => {
                let alike = Message::parse(text.bytes()).expect("read once already");
                assert_eq!(said(message), said(&alike));
                let version = text.get("jsonrpc").expect("asked for");
                assert_eq!(version.as_str(), "\"2.0\"");
            }
            Err(error) => a_refusal_can_be_said(error),
        }
    }
}
