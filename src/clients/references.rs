//! References in files of clients, each client in its own spelling, as references of ours.

use std::path::Path;

use serde_json::{Map, Value};

use super::{NeededValue, needs::secret_name, our_text::OurText};
use crate::config;

/// Which spellings stand for something else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Spelling {
    /// None: what is written is meant.
    Nothing,
    /// Ours: `${X}`, `${X:-default}`, `${keyring:X}`, and `$${` for a literal `${`.
    Ours,
    /// `${X}` and `${X:-default}`.
    Shell,
    /// `${env:X}`, `${input:X}`, `${workspaceFolder}`, and `${X}`.
    Editor,
    /// `$X` and `${X}`.
    Dollar,
    /// `{env:X}` and `{file:X}`.
    Braces,
    /// `${{ secrets.X }}`.
    DoubleBraces,
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
) -> Result<OurText, String> {
    let mut work = Reading {
        spelling,
        meanings,
        needs,
        out: OurText::default(),
    };
    let opening = match spelling {
        Spelling::Nothing => return Ok(OurText::literal(text)),
        Spelling::Ours | Spelling::Shell | Spelling::Editor => "${",
        Spelling::Dollar => "$",
        Spelling::Braces => "{",
        Spelling::DoubleBraces => "${{",
    };
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(opening) {
        let escaped = before.strip_suffix('$').filter(|_| work.is_ours());
        work.out.push_literal(escaped.unwrap_or(before));
        let read = match escaped {
            Some(_) => None,
            None => work.reference(after)?,
        };
        rest = read.unwrap_or_else(|| {
            work.out.push_literal(opening);
            after
        });
    }
    work.out.push_literal(rest);
    Ok(work.out)
}

/// A text while it is read.
struct Reading<'a> {
    spelling: Spelling,
    meanings: &'a Meanings<'a>,
    needs: &'a mut Vec<NeededValue>,
    out: OurText,
}

impl Reading<'_> {
    /// Reads a reference behind its opening. What follows it; nothing where there is none, and the opening stands for itself.
    fn reference<'t>(&mut self, text: &'t str) -> Result<Option<&'t str>, String> {
        let braced = |inside: &'t str| inside.split_once('}');
        match self.spelling {
            Spelling::Nothing => Ok(None),
            Spelling::Ours | Spelling::Shell | Spelling::Editor => {
                let Some((inside, after)) = braced(text) else {
                    return Ok(None);
                };
                // The folder of an editor is in pages for any client.
                if self.spelling == Spelling::Editor || inside.starts_with("workspaceFolder") {
                    self.editors(inside)?;
                } else {
                    self.ours(inside);
                }
                Ok(Some(after))
            }
            Spelling::Dollar => {
                if let Some((inside, after)) = text.strip_prefix('{').and_then(braced) {
                    self.ours(inside);
                    return Ok(Some(after));
                }
                let end = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
                let (name, after) = text.split_at(end.unwrap_or(text.len()));
                let is_variable = self.out.push_variable(name, None, self.needs);
                Ok(is_variable.then_some(after))
            }
            Spelling::Braces => {
                let Some((kind, name)) = text.split_once(':') else {
                    return Ok(None);
                };
                if !["env", "file"].contains(&kind) {
                    return Ok(None);
                }
                let Some((name, after)) = braced(name) else {
                    return Err("it has a \"{env:\" or \"{file:\" without its \"}\"".to_owned());
                };
                if kind == "file" {
                    self.content_of(name);
                } else if !self.out.push_variable(name, None, self.needs) {
                    return Ok(None);
                }
                Ok(Some(after))
            }
            Spelling::DoubleBraces => {
                let named = text.split_once("}}").and_then(|(inside, after)| {
                    Some((inside.trim().strip_prefix("secrets.")?, after))
                });
                let Some((name, after)) = named else {
                    return Ok(None);
                };
                let need = NeededValue::secret(secret_name(name), None);
                self.out.push_secret(need, self.needs);
                Ok(Some(after))
            }
        }
    }

    fn is_ours(&self) -> bool {
        self.spelling == Spelling::Ours
    }

    /// `${X}`, `${env:X}`, `${X:-default}` and, where the program has it, `${keyring:X}`; anything else stands for itself. What a page asks
    /// for by `${input:X}` is nowhere a value.
    fn ours(&mut self, inside: &str) {
        if let Some(id) = inside.strip_prefix("input:") {
            return self.input(id);
        }
        if let Some(name) = inside.strip_prefix("keyring:")
            && self.is_ours()
            && config::is_secret_name(name)
        {
            let about = "it is in another program's keyring".to_owned();
            let need = NeededValue::secret(name.to_owned(), Some(about));
            self.out.push_secret(need, self.needs);
            return;
        }
        let named = inside.strip_prefix("env:").unwrap_or(inside);
        let (name, default) = match named.split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (named, None),
        };
        if !self.out.push_variable(name, default, self.needs) {
            self.itself(inside);
        }
    }

    /// What is no reference there.
    fn itself(&mut self, inside: &str) {
        self.out.push_literal("${");
        self.out.push_literal(inside);
        self.out.push_literal("}");
    }

    fn editors(&mut self, inside: &str) -> Result<(), String> {
        let (kind, name) = inside.split_once(':').unwrap_or((inside, ""));
        match kind {
            "input" => self.input(name),
            "file" => self.content_of(name),
            "userHome" => self.ours("HOME"),
            "pathSeparator" | "/" => self.out.push_literal("/"),
            "workspaceFolder" | "workspaceRoot" | "workspaceFolderBasename" => {
                let folder = self.meanings.project.ok_or_else(|| {
                    format!(
                        "it refers to the open folder (${{{inside}}}), which a shared server does not have"
                    )
                })?;
                let name = folder.file_name().filter(|_| kind.ends_with("Basename"));
                let text = name.unwrap_or(folder.as_os_str()).to_string_lossy();
                self.out.push_literal(&text);
            }
            "command" | "config" => {
                return Err(format!(
                    "it refers to a value of the editor (${{{inside}}})"
                ));
            }
            _ => self.ours(inside),
        }
        Ok(())
    }

    /// What the editor asks for: the default where it is no secret, else a secret of that name.
    fn input(&mut self, id: &str) {
        let asked = self.meanings.inputs.get(id);
        let text = |key: &str| asked.and_then(|asked| asked.get(key)?.as_str());
        let is_secret = asked.and_then(|asked| asked.get("password")?.as_bool()) == Some(true);
        if let Some(default) = text("default").filter(|default| !is_secret && !default.is_empty()) {
            self.out.push_literal(default);
            return;
        }
        let about = text("description").map(str::to_owned);
        let need = NeededValue::secret(secret_name(id), about);
        self.out.push_secret(need, self.needs);
    }

    /// What stands in a file: a secret.
    fn content_of(&mut self, path: &str) {
        let stem = Path::new(path).file_name().unwrap_or_default();
        let need = NeededValue {
            file: Some(path.to_owned()),
            ..NeededValue::secret(secret_name(&stem.to_string_lossy()), None)
        };
        self.out.push_secret(need, self.needs);
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use serde_json::{Map, json};

    use super::{Meanings, Spelling, carried};

    /// What becomes of a text, and the names of what it needs.
    fn of(text: &str, spelling: Spelling) -> (Result<String, String>, Vec<String>) {
        of_project(text, spelling, "/p")
    }

    fn of_project(
        text: &str,
        spelling: Spelling,
        project: &str,
    ) -> (Result<String, String>, Vec<String>) {
        let mut inputs = Map::new();
        inputs.insert(
            "token".to_owned(),
            json!({ "id": "token", "password": true, "default": "x" }),
        );
        inputs.insert(
            "dollar".to_owned(),
            json!({ "id": "dollar", "default": "$" }),
        );
        inputs.insert(
            "host".to_owned(),
            json!({ "id": "host", "default": "localhost" }),
        );
        let meanings = Meanings {
            project: Some(Path::new(project)),
            inputs: &inputs,
        };
        let mut needs = Vec::new();
        let text = carried(text, spelling, &meanings, &mut needs);
        let text = text.and_then(|text| text.written());
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
        check(Spelling::Ours, "${workspaceFolder}/x", "/p/x", &[]);
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
        for spelling in [Spelling::Ours, Spelling::Shell, Spelling::Dollar] {
            check(spelling, "${input:token}", "${keyring:token}", &["token"]);
            check(spelling, "x ${input:key}", "x ${keyring:key}", &["key"]);
        }
        let (refused, _) = of("${command:pick}", Spelling::Editor);
        assert!(refused.is_err());
        assert!(of("{env:A", Spelling::Braces).0.is_err());
    }

    #[test]
    fn no_reference_comes_into_being_where_pieces_meet() {
        use Spelling::{Braces, Dollar, Editor, Nothing, Ours, Shell};
        let secret = "$${keyring:x}";
        check(Editor, "${input:dollar}{keyring:x}", secret, &[]);
        check(Editor, "${input:dollar}${input:dollar}{k}", "$$${k}", &[]);
        check(Editor, "${env:A}{keyring:x}", "${A}{keyring:x}", &["A"]);
        for (text, expected) in [
            ("${workspaceFolder}{keyring:x}", "/q$${keyring:x}"),
            ("${workspaceFolderBasename}{keyring:x}", "q$${keyring:x}"),
            ("${workspaceFolder}${/}{b}", "/q$/{b}"),
        ] {
            let (found, _) = of_project(text, Editor, "/q$");
            assert_eq!(found.as_deref(), Ok(expected), "{text}");
        }
        let (found, _) = of_project("${workspaceFolder}", Editor, "/${keyring:x}");
        assert_eq!(found.as_deref(), Ok("/$${keyring:x}"));
        // Our own references are those of two programs alone.
        for spelling in [Nothing, Shell, Editor, Dollar, Braces] {
            check(spelling, "${keyring:x}", secret, &[]);
        }
        check(Ours, "${keyring:x}", "${keyring:x}", &["x"]);
        for spelling in [Nothing, Ours, Shell, Editor, Dollar] {
            let (found, needs) = of("${env:keyring:x}", spelling);
            assert_eq!(found.as_deref(), Ok("$${env:keyring:x}"), "{spelling:?}");
            assert!(needs.is_empty(), "{needs:?}");
        }
        check(Ours, "$${A${keyring:x}}", "$${A${keyring:x}}", &["x"]);
        check(Shell, "${A:-${keyring:x}}", "$${A:-$${keyring:x}}", &[]);
        check(Dollar, "$keyring:x $", "${keyring}:x $", &["keyring"]);
        check(
            Braces,
            "{env:keyring:x} {env:A}${B}",
            "{env:keyring:x} ${A}$${B}",
            &["A"],
        );
        check(Braces, "${{env:A}x}", "$${${A}x}", &["A"]);
        for (text, spelling) in [
            ("$${env:A}", Editor),
            ("$${A}", Shell),
            ("$$A", Dollar),
            ("${input:dollar}${input:token}", Editor),
        ] {
            let (found, _) = of(text, spelling);
            let why = found.expect_err(text);
            assert!(why.contains("right before a reference"), "{why}");
        }
    }
}
