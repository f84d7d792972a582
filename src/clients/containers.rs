//! Commands that start containers: where their image stands, and which variables their arguments give to the container. All users of the
//! machine can read a secret in an argument, unlike one in a variable of the command. Pure.

use std::iter::once;

use serde_json::{Map, Value, json};

use super::our_text::is_variable;
use crate::{
    config::is_followed_by_value,
    text::redact::{self, TextKind},
};

/// Whether a command is such a one.
pub(super) fn starts_containers(command: &str) -> bool {
    redact::passes_on(command, "-e")
}

/// Where the image of `docker run OPTIONS IMAGE …` stands.
pub(super) fn image_at(args: &[&str]) -> Option<usize> {
    let mut at = args.iter().position(|arg| *arg == "run")? + 1;
    loop {
        match *args.get(at)? {
            "--" => return Some(at + 1),
            option if option.starts_with('-') => {
                at += 1 + usize::from(is_followed_by_value(option));
            }
            _ => return Some(at),
        }
    }
}

/// A variable that an argument gives to a container.
struct GivenVariable<'a> {
    /// The place of the argument.
    at: usize,
    /// What stands before the name in the argument: `-e`, `--env=`, or nothing where the option is an argument of its own.
    option: &'static str,
    name: &'a str,
    /// Its value; nothing where the container gets that of the command's own variable.
    value: Option<&'a str>,
}

/// Of an entry, which may start no container. Behind the image stand arguments of the program in it; where none is found, `docker exec` say,
/// all arguments are looked at, unless it `needs_image`.
fn given(entry: &Map<String, Value>, needs_image: bool) -> Vec<GivenVariable<'_>> {
    let command = entry.get("command").and_then(Value::as_str);
    let command = command.unwrap_or_default();
    let args = entry.get("args").and_then(Value::as_array);
    let args = args.filter(|_| starts_containers(command));
    let args = args.into_iter().flatten();
    let words: Vec<&str> = args.map(|arg| arg.as_str().unwrap_or_default()).collect();
    let all = if needs_image { 0 } else { words.len() };
    let options = words.iter().take(image_at(&words).unwrap_or(all));
    let before = once(&"").chain(&words);
    let given = options.zip(before).enumerate();
    let given = given.filter_map(|(at, (&word, before))| {
        let mut joined = ["--env=", "-e"].into_iter();
        let option = if redact::passes_on(command, before) {
            ""
        } else {
            joined.find(|option| word.starts_with(option))?
        };
        let variable = word.strip_prefix(option)?;
        let pair = variable.split_once('=');
        let name = pair.map_or(variable, |(name, _)| name);
        is_variable(name).then_some(GivenVariable {
            at,
            option,
            name,
            value: pair.map(|(_, value)| value),
        })
    });
    given.collect()
}

/// Makes each secret among them a variable of the command, which passes it on by its name: `-e TOKEN=x` becomes `-e TOKEN`.
pub(super) fn set_apart(entry: &mut Map<String, Value>) {
    let before = entry.clone();
    let env = before.get("env");
    if env.is_some_and(|env| !env.is_object()) {
        return;
    }
    for given in given(&before, true) {
        let (option, name) = (given.option, given.name);
        let value = given.value.filter(|value| is_secret(name, value));
        let value = value.filter(|_| env.is_none_or(|env| env.get(name).is_none()));
        if let Some(value) = value {
            entry["args"][given.at] = format!("{option}{name}").into();
            entry.entry("env").or_insert_with(|| json!({}))[name] = value.into();
        }
    }
}

/// The secrets among them that the command has to pass on by their names, and does not have.
pub(super) fn lacking(entry: &Map<String, Value>) -> Vec<String> {
    let env = entry.get("env").and_then(Value::as_object);
    let is_lacking = |given: &GivenVariable<'_>| {
        given.value.is_none()
            && redact::is_bare_name(given.name)
            && env.is_none_or(|env| !env.contains_key(given.name))
    };
    let lacking = given(entry, false).into_iter().filter(is_lacking);
    lacking.map(|given| given.name.to_owned()).collect()
}

fn is_secret(name: &str, value: &str) -> bool {
    let looks_so = || redact::redacted_value(name, value, TextKind::Prose) != value;
    !value.is_empty() && (redact::is_bare_name(name) || looks_so())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{lacking, set_apart};

    #[test]
    fn a_secret_of_a_container_is_passed_on_by_its_name() {
        for (before, after, env) in [
            (
                "docker run -i -e TOKEN=abc -e LOG=debug mcp/fetch -e TOKEN=x",
                "docker run -i -e TOKEN -e LOG=debug mcp/fetch -e TOKEN=x",
                "abc",
            ),
            (
                "podman run --env=TOKEN=${T} x",
                "podman run --env=TOKEN x",
                "${T}",
            ),
            ("docker run -eTOKEN=a=b x", "docker run -eTOKEN x", "a=b"),
            (
                "podman run --replace --no-hosts -e TOKEN=abc -- x -e TOKEN=x",
                "podman run --replace --no-hosts -e TOKEN -- x -e TOKEN=x",
                "abc",
            ),
            ("docker run -e TOKEN x", "docker run -e TOKEN x", ""),
            ("npx run -e TOKEN=a x", "npx run -e TOKEN=a x", ""),
            (
                "docker exec -i box x -e TOKEN=abc",
                "docker exec -i box x -e TOKEN=abc",
                "",
            ),
        ] {
            let entry = |line: &str| {
                let mut words = line.split(' ');
                let command = words.next();
                let args: Vec<&str> = words.collect();
                json!({ "command": command, "args": args })
            };
            let (mut found, mut expected) = (entry(before), entry(after));
            set_apart(found.as_object_mut().expect("a map"));
            if !env.is_empty() {
                expected["env"] = json!({ "TOKEN": env });
            }
            assert_eq!(found, expected, "{before}");
        }
        let own = json!({ "command": "docker", "args": ["run", "-e", "TOKEN=a", "x"], "env": { "TOKEN": "b" } });
        let mut kept = own.clone();
        set_apart(kept.as_object_mut().expect("a map"));
        assert_eq!(kept, own);
    }

    #[test]
    fn a_variable_without_a_value_is_lacking_before_the_image_alone() {
        let args = [
            "run",
            "-e",
            "A_TOKEN",
            "-eB_TOKEN",
            "-e",
            "C_TOKEN",
            "-e",
            "LOG",
            "x",
            "-e",
            "D_TOKEN",
        ];
        let entry = json!({ "command": "docker", "args": args, "env": { "C_TOKEN": "c" } });
        let lacking = lacking(entry.as_object().expect("a map"));
        assert_eq!(lacking, ["A_TOKEN", "B_TOKEN"]);
    }
}
