//! Finds the line that says most about the cause in what a program wrote before its end. Programs give nothing but words. Pure.

/// Limit: lines that are searched, from the end. Stack traces are often longer than the rest.
const LOOKED_AT: usize = 60;

/// Words of a line that names a mistake.
const MISTAKES: [&str; 21] = [
    "error",
    "fatal",
    "fail",
    "cannot",
    "can't",
    "could not",
    "couldn't",
    "unable",
    "required",
    "missing",
    "not found",
    "not set",
    "no such",
    "no module",
    "denied",
    "refused",
    "invalid",
    "unknown",
    "exception",
    "panicked",
    "unauthorized",
];

/// The last line that names a mistake and is not part of a stack trace, or else the last line that is not empty.
pub(super) fn telling<'a>(lines: impl DoubleEndedIterator<Item = &'a str>) -> Option<String> {
    let lines = lines.rev().take(LOOKED_AT).map(visible);
    let lines: Vec<&str> = lines.filter(|line| !line.trim().is_empty()).collect();
    let names_a_mistake = |line: &&&str| {
        let lower = without_level(line).to_lowercase();
        !line.starts_with([' ', '\t']) && MISTAKES.iter().any(|word| lower.contains(word))
    };
    let line = lines
        .iter()
        .find(names_a_mistake)
        .or_else(|| lines.first())?;
    Some(line.trim().to_owned())
}

/// What npm says without the level that it begins every line of a failure with, whatever the line is about.
fn without_level(line: &str) -> &str {
    let levels = ["npm error ", "npm ERR! "];
    let rest = levels.iter().find_map(|level| line.strip_prefix(level));
    rest.unwrap_or(line)
}

/// A line without what a progress bar has overwritten.
fn visible(line: &str) -> &str {
    line.trim_end().rsplit('\r').next().unwrap_or_default()
}

/// The container engine that is not running, where that is what its program says.
pub fn engine_is_down(line: &str) -> Option<&'static str> {
    const SAID: [(&str, &str); 4] = [
        ("Cannot connect to the Docker daemon", "Docker"),
        ("failed to connect to the docker API", "Docker"),
        ("Cannot connect to Podman", "Podman"),
        ("unable to connect to Podman", "Podman"),
    ];
    let found = SAID.iter().find(|(words, _)| line.contains(words));
    found.map(|(_, engine)| *engine)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_that_names_the_mistake_is_found() {
        let check = |text: &str, expected: Option<&str>| {
            assert_eq!(telling(text.lines()).as_deref(), expected, "{text}");
        };
        check("", None);
        check(" \n", None);
        check("one\ntwo\n", Some("two"));
        check("10 %\r90 %\r", Some("90 %"));
        check("fatal: no database\nbye", Some("fatal: no database"));
        let python = "Traceback (most recent call last):\n  File \"s.py\", line 1\n    import mcp\nModuleNotFoundError: No module named 'mcp'";
        check(python, Some("ModuleNotFoundError: No module named 'mcp'"));
        let node = "node:internal/modules/cjs/loader:1228\n  throw err;\n  ^\n\nError: Cannot find module '/x.js'\n    at Module._load (node:internal/loader:1)\n    at error (x.js) {\n  code: 'MODULE_NOT_FOUND'\n}\n\nNode.js v20.11.0";
        check(node, Some("Error: Cannot find module '/x.js'"));
        let npm = "npm error code E404\nnpm error 404 Not Found - GET https://r/nope - Not found\nnpm error 404\nnpm error 404  'nope@*' is not in this registry.\nnpm error A complete log of this run can be found in: /l";
        check(
            npm,
            Some("npm error 404 Not Found - GET https://r/nope - Not found"),
        );
        let docker = "docker: Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?\nSee 'docker run --help'.";
        let line = telling(docker.lines()).expect("a line");
        assert_eq!(engine_is_down(&line), Some("Docker"));
        assert_eq!(engine_is_down("docker: invalid reference format"), None);
    }
}
