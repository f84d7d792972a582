//! What only one room may do: making callers, judging servers, knowing revisions; and tasks that somebody waits for.

use super::source::{
    Exception, assert_none, assert_none_but, found_in_code, is_word, sources, without_comments,
};

/// Who says whose request it is.
const CALLERS: &[Exception] = &[(
    "config/server_auth/mod.rs",
    1,
    "the name itself, which nobody else may have",
)];

/// Who opens files to read them, besides `storage`, and `clients`, which has read a client's file before.
const OPENED: &[Exception] = &[
    (
        "cli/input.rs",
        1,
        "what the user gives may come from a pipe",
    ),
    ("config/replace.rs", 1, "a folder"),
    ("doctor/port.rs", 1, "the name of a process"),
    ("storage.rs", 2, "tests beside the code"),
];

/// Who names a file in the data folder, besides `storage`.
const IN_DATA_FOLDER: &[Exception] = &[(
    "config/data_folder_note.rs",
    1,
    "its name has an ending for each configuration",
)];

/// Who looks whether a server is switched off or held, besides the gate, which decides, and `config`, which reads and writes it.
const SHOWN: &[Exception] = &[(
    "management/server_row.rs",
    4,
    "a row shows both to the operator, and what there is to do about a failure while it is quarantined",
)];

/// Who knows besides `wire` that revisions differ.
const REVISIONS: &[Exception] = &[
    (
        "upstream/connect/era.rs",
        4,
        "agrees with a server on the revision",
    ),
    (
        "upstream/connect/http.rs",
        1,
        "asks no server for its revision that is known to want a handshake",
    ),
    (
        "upstream/calls/questions.rs",
        1,
        "compares a count, and asks `Revision` for the rest",
    ),
];

/// Where tasks are started, and who ends and waits for them.
const SPAWNS: &[Exception] = &[
    (
        "daemon_client/bridge/daemon_socket.rs",
        1,
        "ends with the connection, whose handle holds it",
    ),
    (
        "daemon_client/bridge/mod.rs",
        2,
        "the reader ends with its handle; what comes from the daemon is waited for",
    ),
    ("activity/mod.rs", 1, "waited for at once"),
    (
        "api/servers.rs",
        1,
        "waited for at once; ends early where its caller leaves",
    ),
    (
        "activity/task.rs",
        2,
        "waited for at once; what counts the records of the file is told to stop and waited for at the end",
    ),
    ("access/mod.rs", 1, "waited for at once"),
    ("catalog/trust_changes.rs", 1, "waited for at once"),
    ("catalog/indexer.rs", 1, "waited for at once"),
    ("catalog/saver.rs", 1, "waited for at once"),
    ("catalog/task.rs", 1, "waited for at once"),
    ("catalog/handle.rs", 1, "waited for at once"),
    (
        "cli/background.rs",
        1,
        "a thread that ends with the output of the daemon, or with this command",
    ),
    (
        "code_execution/sandbox.rs",
        2,
        "one is waited for at once; the other ends the process with its input",
    ),
    ("config/keeper.rs", 3, "waited for at once"),
    ("daemon/background.rs", 1, "waited for at once"),
    ("daemon/data_folder.rs", 2, "waited for at once"),
    ("daemon/shared_file.rs", 1, "waited for at once"),
    (
        "daemon_client/mod.rs",
        1,
        "ends with the connection, whose handle holds it",
    ),
    (
        "cli/demo_server/mod.rs",
        1,
        "a thread a call, bounded, in a process of its own that ends with its input",
    ),
    (
        "keyring/question.rs",
        1,
        "a thread at a time, which is waited for until its deadline and ends by itself",
    ),
    ("link/legacy_sse/mod.rs", 1, "the reader ends with the link"),
    ("link/stdio.rs", 2, "reader and writer end with the link"),
    (
        "runtime/long_work.rs",
        1,
        "waited for at once, or told to stop; the runtime waits for it",
    ),
    (
        "management/contact.rs",
        1,
        "waited for at once; goes to its end when whoever asked leaves",
    ),
    ("management/over_files.rs", 1, "waited for at once"),
    ("management/writing.rs", 1, "waited for at once"),
    ("process/container.rs", 1, "waited for at once"),
    (
        "process/log_file.rs",
        1,
        "ends when nothing waits to be written; the runtime waits for it",
    ),
    (
        "process/login_path.rs",
        1,
        "asks to its end, within 5 s, whoever still waits for the answer",
    ),
    ("process/mod.rs", 1, "`Process::stop` waits for it"),
    ("process/unix.rs", 3, "waited for at once"),
    ("sessions/session_records/mod.rs", 2, "waited for at once"),
    ("sessions/session_records/task.rs", 1, "waited for at once"),
    (
        "upstream/connect/listening.rs",
        1,
        "ends with the connection, whose handle holds it",
    ),
    (
        "upstream/fleet/supervisor.rs",
        1,
        "the supervisor waits for its workers",
    ),
    ("telemetry/spans/mod.rs", 1, "waited for at once"),
];

/// Where the words of a failure decide because their writer gives nothing else.
const WORDS_OF_FAILURES: &[Exception] = &[
    (
        "code_execution/engine/mod.rs",
        1,
        "the engine of scripts gives only words",
    ),
    (
        "code_execution/engine/outcome.rs",
        1,
        "the engine of scripts gives only words",
    ),
    ("storage.rs", 1, "a test beside the code"),
];

#[test]
fn no_decision_is_made_by_the_words_of_a_failure() {
    let found = found_in_code(|_, line| decides_by_words(line));
    let rule = "give the failure, warning or notice a field, and decide by that";
    assert_none_but(&found, WORDS_OF_FAILURES, rule);
}

#[test]
fn an_error_that_is_logged_with_its_file_is_in_words() {
    let found = found_in_code(|_, line| line.contains(".display()") && line.contains("%error"));
    let known = [(
        "catalog/saved_listings.rs",
        1,
        "an error of the JSON parser",
    )];
    assert_none_but(&found, &known, "write `error = %storage::in_words(&error)`");
}

/// Whether a line looks into the text of a failure, a warning or a notice.
fn decides_by_words(line: &str) -> bool {
    const METHODS: [&str; 6] = [
        ".contains(",
        ".starts_with(",
        ".ends_with(",
        ".strip_prefix(",
        ".strip_suffix(",
        ".split_once(",
    ];
    const TEXTS: [&str; 10] = [
        "error", "failure", "fault", "hint", "message", "notice", "problem", "reason", "warning",
        "why",
    ];
    METHODS.iter().any(|method| {
        line.match_indices(method).any(|(start, _)| {
            let (before, _) = line.split_at(start);
            let begin = before.rfind(|c: char| !is_word(c) && !".()".contains(c));
            let (_, subject) = before.split_at(begin.map_or(0, |begin| begin + 1));
            subject
                .split(['.', '(', ')'])
                .any(|part| TEXTS.contains(&part))
        })
    })
}

#[test]
fn the_reader_of_decisions_sees_what_is_there() {
    for line in [
        "if failure.hint.contains(\"x\") {",
        "match why.split_once(STEP) {",
        "error.to_string().starts_with(\"x\")",
    ] {
        assert!(decides_by_words(line), "{line}");
    }
    for line in ["warnings.contains(warning)", "text.contains(\"error\")"] {
        assert!(!decides_by_words(line), "{line}");
    }
}

#[test]
fn words_for_models_are_in_no_hint_for_people() {
    let found =
        found_in_code(|file, line| line.contains("\"Nothing ran") && !file.is_below("wire"));
    let known = [("failure/hint_text.rs", 1, "the place that adds it")];
    assert_none_but(&found, &known, "make it with `not_run` or `for_agents`");
    let mut wrong = Vec::new();
    for file in sources().into_iter().filter(|file| !file.is_test()) {
        let code = without_comments(file.code());
        for words in [
            "the user",
            "another tool",
            "continue without",
            "retrieve_tools",
        ] {
            for (start, _) in code.match_indices(words) {
                let rest: String = code.split_at(start).1.chars().take(160).collect();
                let made = rest.split_once("Failure::").map_or("", |(_, made)| made);
                if made.starts_with("new(") || made.starts_with("not_run(") {
                    wrong.push(format!("{}: {rest}", file.name));
                }
            }
        }
    }
    assert_none(
        &wrong,
        "what is said to a model is made with `Failure::for_agents`",
    );
}

/// In place of a file may be a pipe, or a device without an end. What the system itself gives at a fixed path is neither.
#[test]
fn files_are_opened_in_one_way() {
    let opens = ["fs::read(", "fs::read_to_string", "File::open("];
    let found = found_in_code(|file, line| {
        let may_be_another = !file.is_below("clients") && !line.contains("\"/");
        may_be_another && opens.iter().any(|open| line.contains(open))
    });
    assert_none_but(
        &found,
        OPENED,
        "read it with `storage::read`, or a text with `read_text`",
    );
}

#[test]
fn the_data_folder_has_only_what_is_in_its_list() {
    let joins = ["data_dir.join(", "data_dir().join("];
    let found = found_in_code(|_, line| joins.iter().any(|join| line.contains(join)));
    assert_none_but(&found, IN_DATA_FOLDER, "name it in `storage::DataFile`");
}

#[test]
fn callers_are_made_in_one_place() {
    let found = found_in_code(|_, line| has_word(line, "anonymous"));
    assert_none_but(&found, CALLERS, "ask `access` who calls");
}

#[test]
fn only_the_gate_judges_servers() {
    let reads = |line: &str, field: &str| {
        line.match_indices(field).any(|(start, _)| {
            let (_, rest) = line.split_at(start + field.len());
            !rest.starts_with(|c: char| is_word(c) || c == '(')
        })
    };
    let found = found_in_code(|file, line| {
        !file.is_below("gate")
            && !file.is_below("config")
            && (reads(line, ".quarantined") || reads(line, ".enabled"))
    });
    assert_none_but(&found, SHOWN, "ask the gate instead of the entry");
}

#[test]
fn only_wire_names_revisions() {
    let found = found_in_code(|file, line| !file.is_below("wire") && line.contains("Revision::V"));
    assert_none_but(
        &found,
        &[],
        "ask a method of `Revision` instead of comparing",
    );
}

#[test]
fn only_wire_knows_that_revisions_differ() {
    let compares = |line: &str| {
        let about = line.contains("Revision::") || has_word(line, "revision");
        let operators = [" == ", " != ", " < ", " <= ", " > ", " >= "];
        let differs = about && operators.iter().any(|operator| line.contains(operator));
        // What follows from there being no handshake has methods of its own.
        differs || line.contains(".has_handshake()")
    };
    let keys = [
        "inputRequests",
        "inputResponses",
        "requestState",
        "resultType",
    ];
    let names_a_key = |line: &str| keys.iter().any(|key| line.contains(&format!("\"{key}\"")));
    let found =
        found_in_code(|file, line| !file.is_below("wire") && (compares(line) || names_a_key(line)));
    let rule = "ask a method of `Revision`, or have `wire` read and write what differs";
    assert_none_but(&found, REVISIONS, rule);
}

#[test]
fn every_task_is_waited_for() {
    let calls = [
        "tokio::spawn(",
        "task::spawn(",
        "spawn_blocking(",
        "thread::spawn(",
        "thread::Builder",
    ];
    let found = found_in_code(|_, line| calls.iter().any(|call| line.contains(call)));
    let rule = "start tasks in a tracker or keep their handles, and say here who waits for them";
    assert_none_but(&found, SPAWNS, rule);
}

fn has_word(line: &str, word: &str) -> bool {
    line.split(|c: char| !is_word(c)).any(|found| found == word)
}

/// Errors whose texts are for programmers, and who has the words for people.
const LIBRARIES: [(&str, &str); 2] = [
    ("io::Error", "storage::in_words"),
    ("serde_json::Error", "wire::json_fault"),
];

#[test]
fn errors_of_libraries_are_put_into_words() {
    let mut wrong = Vec::new();
    for file in sources().into_iter().filter(|file| !file.is_test()) {
        let code = without_comments(file.code());
        wrong.extend(bare(&code).map(|text| format!("{}: {text}", file.name)));
    }
    let known: Vec<String> = LIBRARIES
        .iter()
        .map(|(error, words)| format!("{error} by {words}"))
        .collect();
    assert_none(&wrong, &format!("put into words: {}", known.join(", ")));
}

/// The texts of errors that show a library's error as it is: `#[error("…{0}")] X(io::Error)`.
fn bare(code: &str) -> impl Iterator<Item = &str> {
    let variants = code.split("#[error(").skip(1);
    variants.filter_map(|variant| {
        let (text, rest) = variant.split_once(")]")?;
        let fields = rest.split(['}', ';']).next()?.split("#[").next()?;
        let shows = LIBRARIES.iter().any(|(error, _)| {
            let named = fields.match_indices(error).any(|(start, _)| {
                let (before, _) = fields.split_at(start);
                let before = before.trim_end_matches(|c: char| is_word(c) && c != ' ' || c == ':');
                let before = before.trim_end().trim_end_matches(':');
                let name = before
                    .rsplit(|c: char| !is_word(c))
                    .next()
                    .unwrap_or_default();
                !name.is_empty() && text.contains(&format!("{{{name}}}"))
            });
            let alone = fields.trim_start().split(['(', ',']).nth(1);
            let first = alone.is_some_and(|field| field.trim_end_matches(')').ends_with(error));
            named || first && text.contains("{0}")
        });
        shows.then_some(text)
    })
}

#[test]
fn the_reader_of_bare_errors_sees_what_is_there() {
    let check = |code: &str, n: usize| assert_eq!(bare(code).count(), n, "{code}");
    check("#[error(\"no: {0}\")] No(io::Error),", 1);
    check(
        "#[error(\"no: {why}\")] No { doing: u8, why: std::io::Error },",
        1,
    );
    check("#[error(\"no: {}\", in_words(.0))] No(io::Error),", 0);
    check(
        "#[error(\"no: {0}\")] No(String), #[error(\"x\")] X(io::Error),",
        0,
    );
}
