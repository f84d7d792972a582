//! Reads a pasted text as a file of a client is read. It may be a whole file, a part of one, an entry without a name, a URL, or one line
//! (`pasted_lines`), alone or somewhere in a page of Markdown. Pure.

use std::{iter, path::Path};

use serde_json::{Map, Value, json};

use super::{
    Client, ClientServer, FoundFile,
    default_name::name_of,
    fault::FileFault,
    formats::FileFormat,
    install_links::link,
    line_words::{is_among, words_of_whole},
    pasted_lines::{added_by, is_installation, server_of, started_by},
    rows::CLIENTS,
    servers::{self, is_address, is_entry},
};
use crate::config;

/// The servers in a pasted text, apart by what of it they are read from. The only one gets this name, in all ways to start it that the text
/// gives, and one without a name gets one made of what it starts.
pub(super) fn read(text: &str, name: Option<&str>) -> Result<Vec<FoundFile>, FileFault> {
    let text = text.trim();
    let plain = without_fence(text);
    let mut every = lines(&plain).map(str::trim);
    let has_commands_alone = every.all(|line| line.is_empty() || server_of(line).is_some());
    let roots = match root_of(text) {
        Ok(root) => vec![root],
        Err(fault) if server_of(&plain).is_some() => return Err(fault),
        Err(fault) => match of_page(text, has_commands_alone) {
            Some(found) => found?,
            None if text.lines().any(is_installation) => {
                let step = "paste the command that starts it";
                let problem = "the command installs, builds or tests a program";
                return Err(FileFault::with_step(problem, step));
            }
            None => return Err(fault),
        },
    };
    let mut files: Vec<FoundFile> = Vec::new();
    for (form, root) in roots {
        let client = Client::of_content(&root);
        let mut servers = servers::all(client, &root, None)?;
        for server in &mut servers {
            part_command(&mut server.entry);
            if server.name.is_empty() {
                server.name = name_of(server);
            }
        }
        servers.retain(|server| !files.iter().any(|file| file.servers.contains(server)));
        // Which of several commands starts the server, nobody can tell, and they would all be run.
        let is_guess = form == Form::Start && !has_commands_alone && !files.is_empty();
        files.push(FoundFile {
            client,
            servers,
            repeated: Vec::new(),
            refused: is_guess.then_some("another command is above it; paste this one alone"),
        });
    }
    let meant = files.iter_mut().filter(|file| file.refused.is_none());
    let meant: Vec<_> = meant.flat_map(|file| &mut file.servers).collect();
    let is_one = meant.windows(2).all(|two| two[0].name == two[1].name);
    if let Some(name) = name.filter(|_| is_one) {
        for server in meant {
            name.clone_into(&mut server.name);
        }
    }
    Ok(files)
}

/// Parts a command that has its arguments in it, as Cursor takes one.
fn part_command(entry: &mut Value) {
    let args = entry.get("args").map(Value::as_array);
    let is_alone = args.is_none_or(|args| args.is_some_and(Vec::is_empty));
    let command = entry.get("command").and_then(Value::as_str);
    let words = command.filter(|_| is_alone).and_then(words_of_whole);
    if let Some([program, args @ ..]) = words.as_deref() {
        entry["command"] = json!(program);
        entry["args"] = json!(args);
    }
}

/// What a text can be, the surest first: a list of servers, what adds one to a client, an entry, what starts or reaches one, what is under
/// the key of a list and has no server.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Form {
    List,
    Client,
    Entry,
    Start,
    Other,
}

/// Reads a text as one thing; nothing where it is none.
type Reader = fn(&str) -> Option<Result<Value, FileFault>>;

/// They are tried in this order.
const READERS: [(Form, Reader); 5] = [
    (Form::Client, added_by),
    (Form::Start, started_by),
    (Form::Start, address),
    (Form::List, toml_or_yaml),
    (Form::Entry, json),
];

/// The file that a text makes.
fn root_of(text: &str) -> Result<(Form, Value), FileFault> {
    let text = without_fence(text);
    let mut found = READERS
        .iter()
        .filter_map(|(form, read)| Some((*form, read(&text)?)));
    let none = || FileFault::no_server("no MCP server can be read from the text");
    let (form, root) = found.next().ok_or_else(none)?;
    let root = root?;
    let is_list = root.as_object().is_some_and(has_list);
    let root = with_list(root)?;
    let is_sure = has_server(&root);
    let of_list = if is_sure { Form::List } else { Form::Other };
    Ok((if is_list { of_list } else { form }, root))
}

/// Whether a list has a server: other files have such keys, too, as `OpenAPI` has `servers`.
fn has_server(root: &Value) -> bool {
    let is_one = |server: &ClientServer| !server.name.is_empty() && is_entry(&server.entry);
    let servers = servers::all(Client::of_content(root), root, None);
    servers.is_ok_and(|servers| servers.iter().any(is_one))
}

fn address(text: &str) -> Option<Result<Value, FileFault>> {
    if !is_address(text) || text.contains(char::is_whitespace) {
        return None;
    }
    if is_page(text) {
        let (why, step) = (
            "the URL is a project's page",
            "paste the command or the JSON from its README",
        );
        return Some(Err(FileFault::with_step(why, step)));
    }
    Some(Ok(json!({ "url": text })))
}

fn toml_or_yaml(text: &str) -> Option<Result<Value, FileFault>> {
    let is_yaml = |line: &str| line == "mcpServers:" || line == "extensions:";
    let toml = text.starts_with("[mcp_servers").then_some(FileFormat::Toml);
    let format = toml.or_else(|| text.lines().any(is_yaml).then_some(FileFormat::Yaml));
    Some(format?.read(text))
}

fn json(text: &str) -> Option<Result<Value, FileFault>> {
    let value = match config::json_of(text) {
        // The inside of a list, as pages show it.
        Err(_) if text.starts_with('"') => config::json_of(&format!("{{{text}}}")),
        Err(_) if !text.starts_with(['{', '[']) => return None,
        value => value,
    };
    Some(value.map_err(FileFault::from))
}

/// A file of a client: what is one, a list, or an entry.
fn with_list(value: Value) -> Result<Value, FileFault> {
    let entries = value.as_array().filter(|entries| !entries.is_empty());
    if entries.is_some_and(|entries| entries.iter().all(is_entry)) {
        return Ok(json!({ "mcpServers": value }));
    }
    let Value::Object(members) = &value else {
        return Err(FileFault::no_server("the text has no MCP server"));
    };
    if has_list(members) {
        return Ok(value);
    }
    if is_entry(&value) {
        return Ok(listed(value));
    }
    if !members.is_empty() && members.values().all(is_entry) {
        return Ok(json!({ "mcpServers": members }));
    }
    let why = "the text has no `mcpServers`, `command` or `url`";
    Err(FileFault::no_server(why))
}

/// The file with an entry, and with what that asks for, which VS Code has beside the list.
fn listed(mut entry: Value) -> Value {
    let name = entry.get("name").and_then(Value::as_str);
    let name = name.unwrap_or_default().to_owned();
    let members = entry.as_object_mut();
    let inputs = members.and_then(|members| members.shift_remove("inputs"));
    json!({ "mcpServers": { name: entry }, "inputs": inputs })
}

fn has_list(members: &Map<String, Value>) -> bool {
    let firsts = CLIENTS.iter().flat_map(|client| client.lists);
    let mut lists = firsts.filter_map(|list| members.get(*list.first()?));
    // Other programs do not have this one.
    let has_ours = members.contains_key("mcpServers");
    has_ours || lists.any(|list| list.is_object() || list.is_array())
}

/// Everything of the surest form that a page has, or all of its commands where it has nothing else; else the first mistake in it and where
/// that is.
fn of_page(page: &str, has_commands_alone: bool) -> Option<Result<Vec<(Form, Value)>, FileFault>> {
    let (mut found, mut mistake) = (Vec::new(), None);
    let parts = fenced(page).chain(unfenced(page, has_commands_alone));
    for part in parts.chain(links(page)).map(str::trim) {
        match root_of(part) {
            Ok(root) => found.push(root),
            Err(mut fault) if mistake.is_none() && is_meant(part, &fault) => {
                let before = page.split(part).next().unwrap_or_default();
                let lines = before.matches('\n').count();
                fault.line = Some(fault.line.unwrap_or(1) + lines);
                mistake = Some((added_by(part).is_some(), fault));
            }
            Err(_) => (),
        }
    }
    let surest = found.iter().map(|(form, _)| *form).min();
    // What adds a server to a client was meant, rather than what is less sure.
    if let Some((adds_to_client, fault)) = mistake
        && surest.is_none_or(|surest| adds_to_client && surest > Form::Client)
    {
        return Some(Err(fault));
    }
    let surest = surest?;
    found.retain(|(form, _)| has_commands_alone || *form == surest);
    Some(Ok(found))
}

/// Whether a part that has a fault is a command or JSON: what is in braces without keys in quotes is prose.
fn is_meant(part: &str, fault: &FileFault) -> bool {
    server_of(part).is_some() || fault.line.is_some() && part.contains("\":")
}

/// The lines of a text, each with those in which it goes on.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    let mut before = ' ';
    text.split(move |letter: char| {
        let ends = letter == '\n' && before != '\\';
        before = letter;
        ends
    })
}

/// What is in fences, and the commands there.
fn fenced(text: &str) -> impl Iterator<Item = &str> {
    let blocks = text.split("```").skip(1).step_by(2);
    let blocks = blocks.filter_map(|block| Some(block.split_once('\n')?.1));
    let lines = blocks.clone().flat_map(lines);
    blocks.chain(lines.filter(|line| server_of(line.trim()).is_some()))
}

/// What is in braces, commands that add to a client, and others that are indented, which are code in Markdown.
fn unfenced(text: &str, has_commands_alone: bool) -> impl Iterator<Item = &str> {
    let whole = move |open: usize| text.get(open..=text.rfind('}')?);
    let opens = [text.find("\n{"), text.find('{')].into_iter().flatten();
    let commands = lines(text).filter(move |line| {
        let is_code = line.starts_with("    ") || line.starts_with('\t');
        let line = line.trim();
        let is_prose = line.ends_with(['.', ',', ':']) || !line.contains(['-', '/', '@']);
        let is_command = || added_by(line).is_some() || is_code && started_by(line).is_some();
        has_commands_alone || !is_prose && is_command()
    });
    objects(text).chain(opens.filter_map(whole)).chain(commands)
}

/// Links that install, as badges have them in Markdown and in HTML.
fn links(text: &str) -> impl Iterator<Item = &str> {
    let is_around = |c: char| c.is_whitespace() || matches!(c, '(' | ')' | '<' | '>' | '"');
    text.split(is_around).filter(|part| link(part).is_some())
}

/// What is in braces and no part of something larger.
fn objects(text: &str) -> impl Iterator<Item = &str> {
    let mut from = 0;
    iter::from_fn(move || {
        loop {
            let open = from + text.get(from..)?.find('{')?;
            let object = in_braces(text.get(open..)?)?;
            from = open + object.len();
            let before = text.get(..open)?.trim_end();
            let after = text.get(from..)?.trim_start();
            let next = after.strip_prefix(',').map(str::trim_start);
            let goes_on = next.is_some_and(|next| next.starts_with(['"', '{']));
            if !goes_on && !before.ends_with("\":") && !after.starts_with(['}', ']']) {
                return Some(object);
            }
        }
    })
}

/// The beginning of a text up to the brace that closes its first letter.
fn in_braces(text: &str) -> Option<&str> {
    let (mut depth, mut is_quoted, mut letters) = (0_usize, false, text.char_indices());
    while let Some((at, letter)) = letters.next() {
        match letter {
            '\\' if is_quoted => {
                letters.next();
            }
            '"' => is_quoted = !is_quoted,
            '\n' => is_quoted = false,
            '{' if !is_quoted => depth += 1,
            '}' if !is_quoted && depth == 1 => return text.get(..=at),
            '}' if !is_quoted => depth -= 1,
            _ => (),
        }
    }
    None
}

/// Hosts of projects' pages.
const PAGES: &str = "github.com gitlab.com bitbucket.org codeberg.org npmjs.com pypi.org";

/// Whether an address is a page for people, of a project that may have a server, or its repository.
fn is_page(url: &str) -> bool {
    let Ok(uri) = url.parse::<http::Uri>() else {
        return false;
    };
    let host = uri.host().unwrap_or_default();
    let is_host = is_among(host.strip_prefix("www.").unwrap_or(host), PAGES);
    // GitLab's own server is at `/api/v4/mcp`.
    let ending = Path::new(uri.path()).extension();
    let is_repository = ending.is_some_and(|end| end == "git");
    is_host && !uri.path().starts_with("/api/") || is_repository
}

/// A block of Markdown without its fence.
fn without_fence(text: &str) -> String {
    let is_fence = |line: &&str| !line.trim_start().starts_with("```");
    let lines: Vec<&str> = text.lines().filter(is_fence).collect();
    lines.join("\n").trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::read;

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        let found = read(text, None).expect("servers");
        let used = found.iter().filter(|file| file.refused.is_none());
        let servers = used.flat_map(|file| &file.servers);
        let names: Vec<&str> = servers.map(|server| &*server.name).collect();
        assert_eq!(names, expected, "{text}");
    }

    #[test]
    fn everything_that_pages_give_is_understood() {
        check(
            r#"{"mcpServers": {"a": {"command": "x"}, "b": {"url": "https://h/"}}}"#,
            &["a", "b"],
        );
        check(
            r#"{"servers": {"a": {"type": "stdio", "command": "x"}}}"#,
            &["a"],
        );
        check(r#"{"a": {"command": "x"}}"#, &["a"]);
        check(r#""a": {"command": "x"},"#, &["a"]);
        check(
            "```json\n\"a\": {\n  \"command\": \"x\" // c\n}\n```",
            &["a"],
        );
        check(
            r#"{"command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "/data"]}"#,
            &["filesystem"],
        );
        check("https://mcp.linear.app/sse", &["linear"]);
        check("```\nuvx mcp-server-time --zone x\n```", &["time"]);
        check("claude mcp add acme -- npx -y @acme/mcp", &["acme"]);
        check("https://gitlab.com/api/v4/mcp", &["gitlab"]);
        check(
            "cursor://anysphere.cursor-deeplink/mcp/install?name=x&config=eyJhIjp7ImNvbW1hbmQiOiJucHgifX0=",
            &["a"],
        );
        check(
            "[![Add](https://h/a.svg)](https://cursor.com/install-mcp?name=x&config=eyJjb21tYW5kIjoibnB4In0%3D)",
            &["x"],
        );
        check("[mcp_servers.a]\ncommand = \"x\"", &["a"]);
        let json = r#"{"mcpServers": {"a": {"command": "x", "args": []}}}"#;
        let install = "npm install -g x";
        check(
            &format!("# A\n\nUse it:\n\n```json\n{json}\n```\nDone."),
            &["a"],
        );
        check(&format!("Add this to your `x.json`:\n{json}"), &["a"]);
        check(&format!("Replace {{it}}:\n{json}\nDone."), &["a"]);
        check(&format!("Put {{this}} {json}, and {{that}}."), &["a"]);
        check("Run:\n\n    npx -y @x/notes\n\nDone.", &["notes"]);
        check(
            &format!("```sh\n{install}\n```\nthen\n```sh\nuvx mcp-server-time\n```"),
            &["time"],
        );
        check(
            &format!("```\n{install}\nuvx mcp-server-time\n```"),
            &["time"],
        );
        let found = read(r#"{"command": "x"}"#, Some("mine")).expect("a server");
        assert_eq!(found[0].servers[0].name, "mine");
        for (page, expected) in [
            (
                r#"{"mcpServers": {"a": {"command": "x"}}} or {"mcpServers": {"a": {"command": "y"}}}"#,
                ["mine", "mine"],
            ),
            (
                "Run:\n\n    npx -y @x/one\n\n    npx -y @x/two",
                ["mine", "two"],
            ),
            (
                r#"{"a": {"command": "x"}, "b": {"command": "y"}}"#,
                ["a", "b"],
            ),
        ] {
            let found = read(page, Some("mine")).expect(page);
            let servers = found.iter().flat_map(|file| &file.servers);
            let names: Vec<&str> = servers.map(|server| &*server.name).collect();
            assert_eq!(names, expected, "{page}");
        }
    }

    #[test]
    fn the_surest_of_a_page_is_read_and_all_of_it() {
        let json = r#"{"mcpServers": {"a": {"command": "x"}}}"#;
        let example = r#"{"url": "https://x.example/page", "depth": 2}"#;
        let add = "claude mcp add b \\\n  -- npx -y b";
        for before in [
            "docker build -t mcp/foo .",
            "node build/index.js",
            "npx @x/inspector",
            example,
            add,
        ] {
            check(
                &format!("# A\n```\n{before}\n```\nThen:\n```\n{json}\n```"),
                &["a"],
            );
        }
        check(
            &format!("```\nnpx -y c\n```\n```\n{example}\n```\n```\n{add}\n```"),
            &["b"],
        );
        let more = "codex mcp add c --url https://c.example/mcp";
        for both in [
            format!("```\n{add}\n{more}\n```"),
            format!("# A\n```\n{add}\n```\nand\n```\n{more}\n```"),
            format!("{add}\n\n{more}"),
            format!("First\n{add}\nthen\n{more}"),
        ] {
            check(&both, &["b", "c"]);
        }
        check(
            &format!("{json}\n{}", json.replace("\"a\"", "\"d\"")),
            &["a", "d"],
        );
        check(
            r#"[{"name": "q", "command": "npx"}, {"name": "r", "url": "https://r.example"}]"#,
            &["q", "r"],
        );
        let link = |name: &str| {
            format!(
                "[!](https://cursor.com/install-mcp?name={name}&config=eyJjb21tYW5kIjoibnB4In0)"
            )
        };
        check(
            &format!("{} {} {}", link("x"), link("y"), link("x")),
            &["x", "y"],
        );
        check("npx -y @x/one\nnpx -y @x/two", &["one", "two"]);
        check(
            "# A\n```\nnpx -y @x/one\n```\nor\n```\nnpx -y @x/two\n```",
            &["one"],
        );
        for other in [
            r#"{"extensions": ["ms-python.python"]}"#,
            r#"{"servers": [{"url": "https://x.example"}]}"#,
            r#"{"mcp": {"servers": "x"}}"#,
        ] {
            check(&format!("# A\n```\n{other}\n```\n```\n{add}\n```"), &["b"]);
        }
        let yaml = "mcpServers:\n  s:\n    command: x\n    args: [z]";
        check(&format!("# A\n```yaml\n{yaml}\n```"), &["s"]);
        check(yaml, &["s"]);
        let twice = read(
            "[mcp_servers.a]\nenv = { A = \"x\" }\nenv = { B = \"y\" }",
            None,
        );
        let why = twice.expect_err("a key that is there twice").to_string();
        assert!(why.contains("TOML: duplicate key"), "{why}");
    }

    #[test]
    fn a_command_in_one_string_is_parted_and_a_path_is_not() {
        for (command, expected) in [
            ("npx -y '@x/notes' b", vec!["npx", "-y", "@x/notes", "b"]),
            ("/opt/My App/x -y", vec!["/opt/My App/x -y"]),
            (r"C:\\My App\\x", vec![r"C:\My App\x"]),
        ] {
            for args in ["", r#", "args": []"#] {
                let found = read(&format!(r#"{{"command": "{command}"{args}}}"#), Some("x"));
                let server = &found.expect(command)[0].servers[0];
                let mut words = server.args();
                words.insert(0, server.command().expect(command));
                assert_eq!(words, expected, "{command}");
            }
        }
        let given = read(r#"{"command": "a b", "args": ["c"]}"#, None).expect("a server");
        assert_eq!(given[0].servers[0].command(), Some("a b"));
        let named = read(r#"{"command": "npx -y @x/notes"}"#, None).expect("a server");
        assert_eq!(named[0].servers[0].name, "notes");
    }

    #[test]
    fn what_an_entry_asks_for_stands_beside_its_list() {
        let entry = r#"{"name": "x", "command": "a", "inputs": [{"id": "key"}]}"#;
        let server = &read(entry, None).expect("a server")[0].servers[0];
        assert!(server.inputs.contains_key("key"));
        assert!(server.entry.get("inputs").is_none());
    }

    #[test]
    fn what_is_no_server_is_said() {
        for text in [
            "",
            "[]",
            "{}",
            r#"{"a": 1}"#,
            "add the server x",
            "Needs:\n\n    node 18 or later",
            r#"{"mcpServers": {"a": {"command": "x"}}}, "b": {"command": "y"}}}"#,
        ] {
            read(text, None).expect_err(text);
        }
        let fenced = "# A {x}\n\n```json\n\"a\": {\n\"command\": \"x\" \"b\" }\n```";
        let mistake = read(fenced, None).expect_err("it is no JSON");
        assert_eq!(mistake.line, Some(5), "{mistake}");
        let page = "# A\n```\nclaude mcp add --new '{\"command\": \"x\"}' a npx\n```\nDone.";
        let mistake = read(page, None).expect_err("an unknown option");
        assert_eq!(mistake.line, Some(3), "{mistake}");
        let line = r#"claude mcp add-json --new a '{"command": "x"}'"#;
        let mistake = read(line, None).expect_err(line).to_string();
        assert!(mistake.starts_with("unknown option `--new`"), "{mistake}");
        let installed = [
            "npm install -g @x/y",
            "Run:\n```\n$ pip install y\n```",
            "uv tool install y",
            "npx -y @x/cli install @y/z --client claude",
        ];
        for text in installed {
            let fault = read(text, None).expect_err(text);
            let step = Some("paste the command that starts it");
            assert_eq!(fault.own_step, step, "{fault}");
        }
        for (text, step) in [
            ("npx x && npx y", "paste one command"),
            ("npx x &", "paste the command without it"),
        ] {
            let fault = read(text, None).expect_err(text);
            assert_eq!(fault.own_step, Some(step), "{fault}");
        }
        let list = read(r#"{"mcpServers": 7}"#, None).expect_err("a number");
        let why = "`mcpServers` must be a list or a map of servers";
        assert_eq!(list.to_string(), why);
        for url in [
            "https://github.com/github/github-mcp-server",
            "https://gitlab.com/owner/mcp",
            "https://git.example.com/owner/x.git",
        ] {
            let page = read(url, None).expect_err(url);
            let step = Some("paste the command or the JSON from its README");
            assert_eq!(page.own_step, step, "{page}");
        }
    }
}
