//! References in files of clients, each client in its own spelling, as references of ours.

use std::path::Path;

use serde_json::{Map, Value};

use super::{
    clients::Client,
    needs::{NeededValue, note, secret_name},
};

/// Which spellings stand for something else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Spelling {
    /// None: what is written is meant.
    Nothing,
    /// Ours.
    Ours,
    /// `${env:X}`, `${input:X}`, `${workspaceFolder}`, and `${X}`.
    Editor,
    /// `$X` and `${X}`.
    Dollar,
    /// `{env:X}` and `{file:X}`.
    Braces,
}

impl Spelling {
    /// In the texts of a client's entries; `is_address` in addresses and headers.
    pub(super) fn of(client: Client, is_address: bool) -> Self {
        match client {
            Client::ClaudeCode | Client::McpproxyGo | Client::ServersJson => Self::Ours,
            Client::Cursor | Client::VsCode | Client::Windsurf => Self::Editor,
            Client::GeminiCli => Self::Dollar,
            Client::Goose if is_address => Self::Dollar,
            Client::OpenCode => Self::Braces,
            Client::ClaudeDesktop | Client::Codex | Client::Zed | Client::Goose | Client::Magg => {
                Self::Nothing
            }
        }
    }
}

/// What references of a file may mean.
pub(super) struct Meanings<'a> {
    /// The folder of the project.
    pub(super) project: Option<&'a Path>,
    /// What the file asks the person for.
    pub(super) inputs: &'a Map<String, Value>,
}

/// A text with references of ours, and what it needs; or why it cannot be carried.
pub(super) fn carried(
    text: &str,
    spelling: Spelling,
    meanings: &Meanings<'_>,
    needs: &mut Vec<NeededValue>,
) -> Result<String, String> {
    match spelling {
        Spelling::Nothing => Ok(literal(text)),
        Spelling::Braces => braces(text, needs),
        Spelling::Dollar => Ok(dollars(text, needs)),
        Spelling::Ours | Spelling::Editor => dollar_braces(text, spelling, meanings, needs),
    }
}

/// A text that stands for itself in a file of ours.
fn literal(text: &str) -> String {
    text.replace("${", "$${")
}

fn dollar_braces(
    text: &str,
    spelling: Spelling,
    meanings: &Meanings<'_>,
    needs: &mut Vec<NeededValue>,
) -> Result<String, String> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        out.push_str(before);
        let Some((inside, after)) = after.split_once('}') else {
            rest = after;
            out.push_str("$${");
            continue;
        };
        if spelling == Spelling::Ours && before.ends_with('$') {
            out.extend(["${", inside, "}"]);
        } else if spelling == Spelling::Ours {
            out.push_str(&ours(inside, needs));
        } else {
            out.push_str(&editors(inside, meanings, needs)?);
        }
        rest = after;
    }
    out.push_str(rest);
    Ok(out)
}

/// `${X}`, `${env:X}`, `${X:-default}` and `${keyring:X}`; anything else stands for itself.
fn ours(inside: &str, needs: &mut Vec<NeededValue>) -> String {
    if let Some(name) = inside.strip_prefix("keyring:") {
        let about = "it is in the keyring of the other program".to_owned();
        note(needs, NeededValue::secret(name.to_owned(), Some(about)));
        return format!("${{{inside}}}");
    }
    let named = inside.strip_prefix("env:").unwrap_or(inside);
    let (name, default) = match named.split_once(":-") {
        Some((name, default)) => (name, Some(default)),
        None => (named, None),
    };
    if !is_variable(name) {
        return format!("$${{{inside}}}");
    }
    if default.is_none() {
        note(needs, NeededValue::variable(name));
    }
    format!("${{{named}}}")
}

fn editors(
    inside: &str,
    meanings: &Meanings<'_>,
    needs: &mut Vec<NeededValue>,
) -> Result<String, String> {
    let (kind, name) = inside.split_once(':').unwrap_or((inside, ""));
    match kind {
        "env" => Ok(ours(name, needs)),
        "input" => Ok(input(name, meanings, needs)),
        "file" => Ok(content_of(name, needs)),
        "userHome" => Ok(ours("HOME", needs)),
        "pathSeparator" | "/" => Ok("/".to_owned()),
        "workspaceFolder" | "workspaceRoot" => match meanings.project {
            Some(folder) => Ok(literal(&folder.display().to_string())),
            None => Err(format!(
                "it refers to the folder that is open (${{{inside}}}), and a server that all clients share has none"
            )),
        },
        "workspaceFolderBasename" => {
            let name = meanings.project.and_then(Path::file_name);
            name.map(|name| literal(&name.to_string_lossy()))
                .ok_or_else(|| format!("it refers to the folder that is open (${{{inside}}})"))
        }
        "command" | "config" => Err(format!(
            "it refers to something that only the editor knows (${{{inside}}})"
        )),
        _ => Ok(ours(inside, needs)),
    }
}

/// What the editor asks for: the default where it is no secret, else a secret of that name.
fn input(id: &str, meanings: &Meanings<'_>, needs: &mut Vec<NeededValue>) -> String {
    let asked = meanings.inputs.get(id);
    let text = |key: &str| asked.and_then(|asked| asked.get(key)?.as_str());
    let is_secret = asked.and_then(|asked| asked.get("password")?.as_bool()) == Some(true);
    if let Some(default) = text("default").filter(|default| !is_secret && !default.is_empty()) {
        return literal(default);
    }
    let name = secret_name(id);
    note(
        needs,
        NeededValue::secret(name.clone(), text("description").map(str::to_owned)),
    );
    format!("${{keyring:{name}}}")
}

/// What stands in a file: a secret.
fn content_of(path: &str, needs: &mut Vec<NeededValue>) -> String {
    let stem = Path::new(path).file_name().unwrap_or_default();
    let name = secret_name(&stem.to_string_lossy());
    let need = NeededValue {
        file: Some(path.to_owned()),
        ..NeededValue::secret(name.clone(), None)
    };
    note(needs, need);
    format!("${{keyring:{name}}}")
}

/// `{env:X}` and `{file:X}`.
fn braces(text: &str, needs: &mut Vec<NeededValue>) -> Result<String, String> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = ["{env:", "{file:"]
        .iter()
        .filter_map(|begin| rest.find(begin))
        .min()
    {
        let (before, after) = rest.split_at(at);
        out.push_str(&literal(before));
        let Some((inside, after)) = after.split_once('}') else {
            return Err("it has a \"{env:\" or \"{file:\" without its \"}\"".to_owned());
        };
        out.push_str(&match inside.split_once(':') {
            Some(("{file", path)) => content_of(path, needs),
            Some((_, name)) => ours(name, needs),
            None => String::new(),
        });
        rest = after;
    }
    out.push_str(&literal(rest));
    Ok(out)
}

/// `$X` and `${X}`.
fn dollars(text: &str, needs: &mut Vec<NeededValue>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('$') {
        out.push_str(before);
        if let Some((inside, after)) = after.strip_prefix('{').and_then(|i| i.split_once('}')) {
            out.push_str(&ours(inside, needs));
            rest = after;
            continue;
        }
        let end = after.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        let (name, after) = after.split_at(end.unwrap_or(after.len()));
        if is_variable(name) {
            out.push_str(&ours(name, needs));
        } else {
            out.push('$');
            out.push_str(&literal(name));
            // `${` that is not closed.
            if after.starts_with('{') {
                out.push('$');
            }
        }
        rest = after;
    }
    out.push_str(rest);
    out
}

fn is_variable(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use serde_json::{Map, json};

    use super::{Meanings, Spelling, carried};

    /// What becomes of a text, and the names of what it needs.
    fn of(text: &str, spelling: Spelling) -> (Result<String, String>, Vec<String>) {
        let mut inputs = Map::new();
        inputs.insert(
            "token".to_owned(),
            json!({ "id": "token", "password": true, "default": "x" }),
        );
        inputs.insert(
            "host".to_owned(),
            json!({ "id": "host", "default": "localhost" }),
        );
        let meanings = Meanings {
            project: Some(Path::new("/p")),
            inputs: &inputs,
        };
        let mut needs = Vec::new();
        let text = carried(text, spelling, &meanings, &mut needs);
        let needs = needs.into_iter().map(|need| need.name).collect();
        (text, needs)
    }

    #[track_caller]
    fn check(spelling: Spelling, text: &str, expected: &str, needs: &[&str]) {
        let (found, needed) = of(text, spelling);
        assert_eq!(found.as_deref(), Ok(expected), "{text}");
        assert_eq!(needed, needs, "{text}");
    }

    #[test]
    fn every_spelling_becomes_ours() {
        check(Spelling::Nothing, "${A} $B", "$${A} $B", &[]);
        check(
            Spelling::Ours,
            "x ${A} ${env:B} ${C:-d}",
            "x ${A} ${B} ${C:-d}",
            &["A", "B"],
        );
        check(
            Spelling::Ours,
            "$${A} ${keyring:k/v}",
            "$${A} ${keyring:k/v}",
            &["k/v"],
        );
        check(Spelling::Ours, "${what is this}", "$${what is this}", &[]);
        check(Spelling::Editor, "Bearer ${env:A}", "Bearer ${A}", &["A"]);
        check(
            Spelling::Editor,
            "${input:token}@${input:host}",
            "${keyring:token}@localhost",
            &["token"],
        );
        check(
            Spelling::Editor,
            "${input:new one}",
            "${keyring:new-one}",
            &["new-one"],
        );
        check(
            Spelling::Editor,
            "${workspaceFolder}/x ${workspaceFolderBasename}",
            "/p/x p",
            &[],
        );
        check(Spelling::Editor, "${userHome}${/}a", "${HOME}/a", &["HOME"]);
        check(
            Spelling::Editor,
            "${file:~/.keys/gh.txt}",
            "${keyring:gh.txt}",
            &["gh.txt"],
        );
        check(Spelling::Editor, "a ${", "a $${", &[]);
        check(Spelling::Dollar, "$A-${B}", "${A}-${B}", &["A", "B"]);
        check(Spelling::Dollar, "5$ $1 ${", "5$ $1 $${", &[]);
        check(
            Spelling::Braces,
            "k={env:A} {file:/s/t} {x} ${y}",
            "k=${A} ${keyring:t} {x} $${y}",
            &["A", "t"],
        );
        let (refused, _) = of("${command:pick}", Spelling::Editor);
        assert!(refused.is_err());
        assert!(of("{env:A", Spelling::Braces).0.is_err());
    }
}
