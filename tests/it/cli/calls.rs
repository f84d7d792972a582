//! `mcpproxy call`: arguments in, results out.

use super::{Place, playback::Playback};

#[test]
fn a_call_passes_its_arguments_on_as_they_are_written() {
    let place = Place::new();
    let daemon = Playback::answering(&place, 200, r#"{"result":{"content":[]}}"#);
    let args = r#"{ "n":1.10, "big":12345678901234567890123 }"#;
    let file = place.folder().join("args.json");
    std::fs::write(&file, args).expect("written");
    let from_file = format!("@{}", file.display());
    let asked =
        format!(r#"POST /api/v1/call {{"variant":"destructive","name":"a:b","args":{args}}}"#);
    for (given, input) in [(args, ""), ("-", args), (from_file.as_str(), "")] {
        place
            .run_with_input(&["call", "destructive", "a:b", "--args", given], input)
            .ended(0);
        assert_eq!(daemon.asked(), asked, "{given}");
    }
    place.run(&["call", "read", "a:b"]).ended(0);
    assert_eq!(
        daemon.asked(),
        r#"POST /api/v1/call {"variant":"read","name":"a:b","args":{}}"#
    );
    place
        .run(&["call", "read", "a:b", "--args", "@nothing.json"])
        .ended(1)
        .says(&[
            "failed to read the arguments from nothing.json: there is no such file",
            "next step: name a file that can be read",
        ])
        .does_not_say(&["os error"]);
    place
        .run(&["call", "read", "a:b", "--args", "@."])
        .ended(1)
        .says(&["from .: it is a folder", "next step: name a file"]);
    place
        .run(&["call", "read", "a:b", "--args", "{\"a\":"])
        .ended(2)
        .says(&[
            "the arguments are not JSON: line 1, column 5: it ends before it is complete",
            "next step: give a JSON object",
        ]);
}

#[test]
fn a_result_is_shown_as_text_or_exactly_as_it_came() {
    let result = r#"{ "content":[{"type":"text","text":"hello"},
        {"type":"image","data":"AAAA","mimeType":"image/png"},
        {"type":"resource_link","uri":"file:///x","name":"x"},
        {"type":"resource","resource":{"uri":"demo://x","mimeType":"text/plain","text":"inside"}},
        7], "x":1.10, "isError":false }"#;
    let place = Place::new();
    let _daemon = Playback::answering(&place, 200, &format!(r#"{{"result":{result}}}"#));
    let shown = "hello\n[image image/png (about 3 bytes)]\n[resource_link file:///x]\n\
                 [resource text/plain demo://x]\n[content of no known type]\n";
    assert_eq!(place.run(&["call", "read", "a:b"]).ended(0).stdout, shown);
    let exact = place
        .run(&["call", "read", "a:b", "-o", "json"])
        .ended(0)
        .stdout;
    assert_eq!(exact, format!("{result}\n"));
}

#[test]
fn a_result_without_content_shows_its_structure_and_an_odd_one_itself() {
    for (result, shown) in [
        (
            r#"{"structuredContent":{"n":1.10}}"#,
            "{\n  \"n\": 1.10\n}\n",
        ),
        (r#"{"content":null}"#, "{\n  \"content\": null\n}\n"),
        (r#"{"content":[]}"#, ""),
    ] {
        let place = Place::new();
        let _daemon = Playback::answering(&place, 200, &format!(r#"{{"result":{result}}}"#));
        assert_eq!(place.run(&["call", "read", "a:b"]).ended(0).stdout, shown);
    }
}

#[test]
fn a_tool_that_reports_an_error_ends_with_1_after_its_result() {
    let place = Place::new();
    let result = r#"{"result":{"content":[{"type":"text","text":"no such file"}],"isError":true}}"#;
    let _daemon = Playback::answering(&place, 200, result);
    let ran = place
        .run(&["call", "read", "a:b"])
        .ended(1)
        .says(&["a:b reports an error"]);
    assert_eq!(ran.stdout, "no such file\n");
}

#[test]
fn an_error_of_the_server_ends_with_1_and_its_words() {
    let place = Place::new();
    let body = r#"{"rpc_error":{"code":-32602,"message":"bad date","data":{"x":1.10}}}"#;
    let _daemon = Playback::answering(&place, 200, body);
    let ran = place.run(&["call", "read", "a:b"]).ended(1).says(&[
        "bad date",
        "-32602",
        "tools show a:b",
    ]);
    assert!(ran.stdout.is_empty());
    assert_eq!(
        place
            .run(&["call", "read", "a:b", "-o", "json"])
            .ended(1)
            .stdout,
        format!("{body}\n")
    );
}
