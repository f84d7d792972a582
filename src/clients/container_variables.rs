//! Secrets in the arguments of a command that starts a container: all users of the machine can read those, unlike its variables. Pure.

use std::iter::once;

use serde_json::{Map, Value};

use super::{entry_name::image_at, our_text::is_variable};
use crate::text::redact::{self, TextKind};

/// An argument that gives a container a secret.
struct GivenSecret {
    at: usize,
    /// What is left of the argument.
    bare: String,
    name: String,
    value: String,
}

/// Makes each of them a variable of the command, which passes it on by its name: `-e TOKEN=x` becomes `-e TOKEN`.
pub(super) fn set_apart(entry: &mut Map<String, Value>) {
    let mut env = match entry.get("env") {
        None => Map::new(),
        Some(Value::Object(env)) => env.clone(),
        Some(_) => return,
    };
    let mut given = given(entry);
    given.retain(|secret| !env.contains_key(&secret.name));
    let Some(Value::Array(args)) = entry.get_mut("args").filter(|_| !given.is_empty()) else {
        return;
    };
    for secret in given {
        if let Some(arg) = args.get_mut(secret.at) {
            *arg = secret.bare.into();
            env.insert(secret.name, secret.value.into());
        }
    }
    entry.insert("env".to_owned(), env.into());
}

/// Behind the image they would be of the program in the container.
fn given(entry: &Map<String, Value>) -> Vec<GivenSecret> {
    let command = entry.get("command").and_then(Value::as_str);
    let command = command.unwrap_or_default();
    let args = entry.get("args").and_then(Value::as_array);
    let args = args.filter(|_| redact::passes_on(command, "-e"));
    let args = args.into_iter().flatten();
    let words: Vec<&str> = args.map(|arg| arg.as_str().unwrap_or_default()).collect();
    let options = words.iter().take(image_at(&words).unwrap_or_default());
    let before = once(&"").chain(&words);
    let given = options.zip(before).enumerate();
    let given = given.filter_map(|(at, (word, before))| {
        let joined = || {
            ["--env=", "-e"]
                .into_iter()
                .find(|option| word.starts_with(option))
        };
        let option = if redact::passes_on(command, before) {
            ""
        } else {
            joined()?
        };
        let (name, value) = word.strip_prefix(option)?.split_once('=')?;
        is_secret(name, value).then(|| GivenSecret {
            at,
            bare: format!("{option}{name}"),
            name: name.to_owned(),
            value: value.to_owned(),
        })
    });
    given.collect()
}

fn is_secret(name: &str, value: &str) -> bool {
    let looks_so = || redact::redacted_value(name, value, TextKind::Prose) != value;
    is_variable(name) && !value.is_empty() && (redact::is_bare_name(name) || looks_so())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::set_apart;

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
            ("docker run -e TOKEN x", "docker run -e TOKEN x", ""),
            ("npx run -e TOKEN=a x", "npx run -e TOKEN=a x", ""),
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
}
