use proptest::{prelude::*, sample::select};

use super::{
    ListContext, TextKind, hidden_in_arguments, hidden_texts, is_harmless_json, is_secret_name,
    redacted, redacted_arguments,
    rows::{PARTS, ROWS, WORDS},
    table::{compile, every_row},
};

const RANDOM: &str = "0123456789abcdef0123";

#[track_caller]
fn check(kind: TextKind, cases: &[(&str, &str)]) {
    let shown: Vec<_> = cases
        .iter()
        .map(|(text, _)| (*text, redacted(text, kind)))
        .collect();
    let wrong: Vec<_> = shown
        .iter()
        .zip(cases)
        .filter(|((_, shown), (_, expected))| shown != expected)
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Prose and lines of files, as they are and as they are shown.
const TEXTS: &[(&str, &str)] = &[
    ("", ""),
    ("create an issue, please", "create an issue, please"),
    ("path: a b", "path: a b"),
    ("say <token> and <name>", "say <token> and <name>"),
    ("docker run -u 1000:1000 x", "docker run -u 1000:1000 x"),
    ("a//b@c and // d:e@f", "a//b@c and // d:e@f"),
    ("what? a=b", "what? a=b"),
    ("/cb?page=2", "/cb?page=2"),
    ("http://[::1]:8080/a@b", "http://[::1]:8080/a@b"),
    ("http://h:8080/a@b", "http://h:8080/a@b"),
    ("https://h/x?token='", "https://h/x?token='"),
    (
        "compass and donkey: keyboard = author",
        "compass and donkey: keyboard = author",
    ),
    (
        "npm_config_registry of sk-learn",
        "npm_config_registry of sk-learn",
    ),
    ("1234567890123456789012345", "1234567890123456789012345"),
    // By their looks.
    ("use ghp_0123456789, then", "use ***, then"),
    (
        "up__ghp_0123456789 up__echo_text_now",
        "up__*** up__echo_text_now",
    ),
    ("id 0123456789abcdef0123 x", "id *** x"),
    ("a 1b4e28ba-2fa1-11d2-883f-0016d3cca427 b", "a *** b"),
    // By what stands before them.
    ("say Bearer abc d", "say Bearer *** d"),
    ("password=hunter2", "password=***"),
    ("otp=123 x", "otp=***"),
    ("the password: hunter2 (mine)", "the password: *** (mine)"),
    ("{\"token\": \"abc\"}", "{\"token\": \"***\"}"),
    (
        "so {\"token\": \"a b, c\", \"n\": 1}",
        "so {\"token\": \"***\", \"n\": 1}",
    ),
    (
        r#"so {\"token\": \"a b\", \"n\": 1}"#,
        r#"so {\"token\": \"***\", \"n\": 1}"#,
    ),
    (
        r#"so {\"token\": \"ab\", \"n\": 1}"#,
        r#"so {\"token\": \"***\", \"n\": 1}"#,
    ),
    ("x password='a b' y", "x password='***' y"),
    ("mysql --password hunter2 -e x", "mysql --password *** -e x"),
    ("curl -u bob:S https://h/", "curl -u *** https://h/"),
    ("curl --user 'bob:S x' h", "curl --user '***' h"),
    // Lines, headers, elements, keys.
    ("password: hunter2 (mine)", "password: ***"),
    ("password: *** (mine)", "password: *** (mine)"),
    ("password: ***2 (mine)", "password: ***"),
    (
        "A=1\nexport DB_PASSWORD=correct horse\nB=2",
        "A=1\nexport DB_PASSWORD=***\nB=2",
    ),
    ("--token=a b", "--token=***"),
    ("Authorization: Bearer abc d", "Authorization: ***"),
    (
        "Authorization: Token abc\nHost: h",
        "Authorization: ***\nHost: h",
    ),
    ("GET / Cookie: a=b; c=d", "GET / Cookie: ***"),
    (
        "curl -H 'Cookie: a=b; c=d' -H \"X-Api-Key: e f\" https://h/",
        "curl -H 'Cookie: ***' -H \"X-Api-Key: ***\" https://h/",
    ),
    (
        "a <password>S x</password> b",
        "a <password>***</password> b",
    ),
    ("<o:Key id=\"1\">S</o:Key>", "<o:Key id=\"1\">***</o:Key>"),
    ("<token\nid=\"1\">S</token>", "<token\nid=\"1\">***</token>"),
    (
        "a -----BEGIN RSA PRIVATE KEY-----\nMIIE pQIB\nAAKC/AQEA+x==\n-----END RSA PRIVATE KEY-----\nb",
        "a ***\nb",
    ),
    (
        "a -----begin private key-----\nmii\n-----end private key----- b",
        "a *** b",
    ),
    ("a -----BEGIN PRIVATE KEY-----\\nMIIE\\nab", "a ***"),
    ("-----BEGIN A-----\nb", "***"),
    // Addresses, with a scheme or without.
    (
        "see https://u:p@h/x?token=1&a=2 now",
        "see https://***@h/x?token=***&a=2 now",
    ),
    ("db postgres://u:p,s;s(1)@h/db", "db postgres://***@h/db"),
    (
        "db postgres://u:p@ss@h:5432/db",
        "db postgres://***@h:5432/db",
    ),
    ("db=mysql://u:p/w@h/db", "db=mysql://***@h/db"),
    ("redis://:hunter2@h:6379/0", "redis://***@h:6379/0"),
    ("(see https://h/a,b#S,T), x", "(see https://h/a,b#***), x"),
    ("https://u[:p@h/x?a#n=S", "https://***@h/x?a#***"),
    ("https://,u:p@h/SG.0ken-of-mine=", "https://***@h/***"),
    ("/x?token=S", "/x?token=***"),
    (
        "GET /x?a=1&token=S&b=2 HTTP/1.1",
        "GET /x?a=1&token=***&b=2 HTTP/1.1",
    ),
    ("see h.example/x?token=S", "see h.example/x?token=***"),
    ("really?yes/x?token=S", "really?yes/x?token=***"),
    ("get //u:S@h/x", "get //***@h/x"),
    ("dsn u:S@tcp(h)/db", "dsn ***@tcp(h)/db"),
    ("password[0]=S&n=1", "password[0]=***&n=1"),
    ("q=x%26password%3DS%26n%3D1", "q=x%26password%3D***%26n%3D1"),
];

const RECORDS: &[(&str, &str)] = &[
    (
        "https://h/x?sig=S&code=T&page=2#state=U now",
        "https://h/x?sig=***&code=***&page=***#*** now",
    ),
    ("/cb?code=S&empty=&flag", "/cb?code=***&empty=&flag"),
    ("what? a=b", "what? a=b"),
];

/// Arguments and addresses.
const ARGUMENTS: &[(&str, &str)] = &[
    ("--api-key=abc", "--api-key=***"),
    ("GITHUB_TOKEN=abc", "GITHUB_TOKEN=***"),
    ("Authorization: Bearer abc", "Authorization: ***"),
    ("ghp_0123456789", "***"),
    ("1b4e28ba-2fa1-11d2-883f-0016d3cca427", "***"),
    ("DB=postgres://u:p@h/db", "DB=postgres://***@h/db"),
    ("x:ghp_0123456789", "x:***"),
    ("0123456789abcdef0123:0123456789abcdef0123=y", "***:***"),
    ("0123456789abcdef0123-token:0123456789abcdef0123", "***:***"),
    ("--env=GITHUB_TOKEN=a b", "--env=GITHUB_TOKEN=***"),
    ("--header=X-Api-Key: abc", "--header=X-Api-Key: ***"),
    ("https://u:p@h:1/mcp", "https://***@h:1/mcp"),
    (
        "https://h/mcp?api_key=x&a=1",
        "https://h/mcp?api_key=***&a=1",
    ),
    (
        "https://h/s/a8f5f167f44f4964e6c998dee827110c/mcp#x",
        "https://h/s/***/mcp#***",
    ),
    ("http://localhost:3000/mcp", "http://localhost:3000/mcp"),
    ("http://h/?", "http://h/?"),
    ("http://h?a=1&b", "http://h?a=1&b"),
    ("-y", "-y"),
    ("--token=", "--token="),
    (
        "@modelcontextprotocol/server-filesystem",
        "@modelcontextprotocol/server-filesystem",
    ),
    ("/home/me/projects", "/home/me/projects"),
    (
        "ghcr.io/github/github-mcp-server:v1.2.3",
        "ghcr.io/github/github-mcp-server:v1.2.3",
    ),
    ("--author=me", "--author=me"),
    ("--port=8080", "--port=8080"),
    ("mcp-server-sqlite-2025.1.2", "mcp-server-sqlite-2025.1.2"),
    ("C:/Users/me", "C:/Users/me"),
    ("https://example.com/mcp?x=1", "https://example.com/mcp?x=1"),
    (
        "EnvironmentVariablesOfTheWorld",
        "EnvironmentVariablesOfTheWorld",
    ),
];

#[test]
fn what_looks_like_a_secret_is_redacted_and_nothing_beside_it() {
    check(TextKind::Prose, TEXTS);
    check(TextKind::Record, RECORDS);
    check(TextKind::Word, ARGUMENTS);
}

#[test]
fn names_of_secrets_are_known() {
    for name in [
        "token",
        "DB_PASSWORD",
        "X-Api-Key",
        "sessionId",
        "PHPSESSID",
        "jwt",
        "my.key",
        "--pat",
        "connection-string",
    ] {
        assert!(is_secret_name(name), "{name}");
    }
    for name in [
        "", "path", "author", "keyboard", "compass", "key1", "donkey",
    ] {
        assert!(!is_secret_name(name), "{name}");
    }
}

#[test]
fn each_row_has_a_text() {
    assert!((15..=25).contains(&ROWS.len()));
    for row in ROWS {
        let regex = compile(row.name, row.regex);
        let mut texts = [TEXTS, RECORDS, ARGUMENTS].into_iter().flatten();
        assert!(
            texts.any(|(text, _)| regex.is_match(text.as_bytes())),
            "{}",
            row.name
        );
    }
}

#[test]
fn nothing_more_is_found_in_what_was_redacted() {
    for (text, _) in TEXTS.iter().chain(RECORDS) {
        for kind in [TextKind::Prose, TextKind::Record] {
            let once = redacted(text, kind);
            assert_eq!(redacted(&once, kind), once, "{text}");
        }
    }
}

#[test]
fn what_is_hidden_is_known() {
    let url = format!("https://u:pass@h/s/{RANDOM}?api_key=x&a=1");
    assert_eq!(hidden_texts(&url, TextKind::Word), ["u:pass", RANDOM, "x"]);
    let arguments = [
        "--token",
        "abc",
        "K=1",
        "-e",
        "KEY=d",
        "Authorization: Bearer e",
    ];
    let arguments = arguments.map(str::to_owned);
    assert_eq!(hidden_in_arguments(&arguments), ["abc", "d", "Bearer e"]);
    let shown = [
        "--token",
        "***",
        "K=1",
        "-e",
        "KEY=***",
        "Authorization: ***",
    ];
    assert_eq!(redacted_arguments(&arguments), shown);
    for image in [
        ["-e", "GITHUB_TOKEN", "ghcr.io/x"],
        ["-eGITHUB_TOKEN", "--rm", "x"],
    ] {
        assert_eq!(redacted_arguments(&image.map(str::to_owned)), image);
    }
}

#[test]
fn what_stands_in_a_list_is_redacted_by_what_stands_before_it() {
    for (texts, expected) in [
        (&["--password", "x", "y"][..], &[false, true, false][..]),
        (&["--password=z", "x"], &[false, false]),
        (
            &["Authorization", "x", "Accept", "y"],
            &[false, true, false, false],
        ),
        (&["Bearer", "x"], &[false, true]),
        (
            &["-----BEGIN K-----", "a", "-----END K-----", "b"],
            &[false, true, true, false],
        ),
        (&["my token is", "x"], &[false, false]),
        (&["-u", "bob:S", "bob:S"], &[false, true, false]),
        (&["-u", "1000:1000"], &[false, false]),
    ] {
        let mut before = ListContext::default();
        let found: Vec<bool> = texts.iter().map(|text| before.hide(text)).collect();
        assert_eq!(found, expected, "{texts:?}");
    }
    for (command, is_hidden) in [("docker", false), ("/usr/bin/podman", false), ("x", true)] {
        let mut before = ListContext::of_command(command);
        let texts = [
            "run",
            "-e",
            "API_TOKEN",
            "image",
            "-eAPI_TOKEN",
            "image",
            "--token",
            "x",
        ];
        let found = texts.map(|text| before.hide(text));
        let expected = [
            false, false, false, is_hidden, false, is_hidden, false, true,
        ];
        assert_eq!(found, expected, "{command}");
    }
}

#[test]
fn ordinary_arguments_are_harmless() {
    for json in [
        r#"{"path":"/home/me/notes.md","limit":10,"deep":[true,null,1.5]}"#,
        r#"{ "query": "how do I bake bread?", "page": 2 }"#,
        r#"{"text":"Größe und Gewicht, bitte"}"#,
        r#"{"name":"github:list_issues","args":{"a:b":1}}"#,
        r#"{"a":"c/d a:b"}"#,
        r#"{"a":"x\\y, \"so\",\tone\nand two"}"#,
    ] {
        assert!(is_harmless_json(json), "{json}");
    }
    for json in [
        r#"{"token":"x"}"#,
        r#"["--token","y"]"#,
        r#"{"a":"//b:c@d"}"#,
        r#"{"a":"Cookie: c"}"#,
        r#"["-u","bob: S"]"#,
        r#"["Bearer","x"]"#,
        r#"{"env":{"A":"b"}}"#,
        r#"{"a":"x\u000ay"}"#,
        r#"{"a":"x\/y"}"#,
        r#"{"a":"x\nauth: y"}"#,
        r#"{"a":"\n{}"}"#,
        "{\"a\":\n1}",
        r#"{"a":" {}"}"#,
        r#"["ghp_0123456789"]"#,
        r#"["x pat y"]"#,
    ] {
        assert!(!is_harmless_json(json), "{json}");
    }
    assert!(!is_harmless_json(&("[".repeat(20) + &"]".repeat(20))));
}

/// Texts made of what the rows look for.
fn soup() -> impl Strategy<Value = String> {
    let names: Vec<String> = PARTS
        .iter()
        .chain(WORDS)
        .map(|part| part.replace("{-}", "_"))
        .collect();
    let needed: Vec<&str> = ROWS.iter().flat_map(|row| row.needs).copied().collect();
    let signs = vec![
        ": ",
        "=",
        ": \"",
        "\": \"",
        "\n",
        " is ",
        " ",
        "'",
        ", ",
        "/",
        "?",
        "&",
        "@",
        "//",
        "--",
        "-u ",
        "<",
        ">",
        "</",
        "%3D",
        "]=",
        "#",
        "://h/",
        "u:x@h",
        "@tcp(",
        "export ",
        "Set-Cookie",
        "0f9e8d7c6b5a43210fed",
        "1b4e28ba-2fa1-11d2-883f-0016d3cca427",
        "12",
        "-----BEGIN K-----",
        "-----END K-----",
    ];
    let piece = prop_oneof![
        select(names),
        select(needed).prop_map(str::to_uppercase),
        select(signs).prop_map(str::to_owned),
        "[a-zA-Z0-9]{1,24}",
        "\\PC{0,4}",
    ];
    prop::collection::vec(piece, 0..9).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn the_words_that_rows_need_miss_nothing(text in soup()) {
        for kind in [TextKind::Prose, TextKind::Record, TextKind::Word] {
            prop_assert_eq!(redacted(&text, kind), every_row(&text, kind));
        }
    }

    #[test]
    fn no_text_panics(text in "\\PC{0,200}") {
        is_harmless_json(&text);
    }
}
