//! The unit of a systemd user manager: its text, and reading back what it starts. Why it says what it says: `docs/service.md`.

use super::definition::{Installed, MARK, ServiceDefinition};

/// The unit's name.
pub(super) const UNIT: &str = "mcpproxy.service";

const START: &str = "ExecStart=";

/// The unit's text.
pub(super) fn unit(definition: &ServiceDefinition) -> String {
    let program = quoted(&definition.program, Dollar::Plain);
    let arguments = definition.arguments.iter();
    let arguments = arguments.map(|argument| format!(" {}", quoted(argument, Dollar::Doubled)));
    let variables = definition.variables.iter().map(|(name, value)| {
        let variable = quoted(&format!("{name}={value}"), Dollar::Plain);
        format!("Environment={variable}\n")
    });
    let (arguments, variables): (String, String) = (arguments.collect(), variables.collect());
    let environment_file = definition.environment_file.replace('%', "%%");
    format!(
        "\
# {MARK}, which also replaces it: put settings of your own into
# {UNIT}.d/*.conf (`systemctl --user edit mcpproxy`). `mcpproxy service uninstall` removes this file.

[Unit]
Description=mcpproxy, one daemon between AI clients and MCP servers
StartLimitIntervalSec=5min
StartLimitBurst=10

[Service]
Type=notify
NotifyAccess=main
{START}{program}{arguments}
{variables}# Values for references like ${{NAME}} in the configuration, if somebody put any there. They are no part of this file.
EnvironmentFile=-{environment_file}
Restart=on-failure
RestartSec=2
# Wrong usage: starting again would not help.
RestartPreventExitStatus=2
TimeoutStartSec=60
TimeoutStopSec=45
# The daemon says that it is alive only while it answers requests.
WatchdogSec=60
# The daemon is asked to end and ends its servers in order; what is left of them after that is killed.
KillMode=mixed
# A server that takes too much memory ends alone.
OOMPolicy=continue
# Memory holds credentials.
LimitCORE=0

[Install]
WantedBy=default.target
"
    )
}

/// What a unit of ours starts.
pub(super) fn parse(text: &str) -> Option<Installed> {
    let line = text.lines().find_map(|line| line.strip_prefix(START))?;
    let mut words = unquoted(line)?.into_iter();
    let program = words.next()?.replace("%%", "%");
    let arguments = words.map(|word| word.replace("%%", "%").replace("$$", "$"));
    Some(Installed {
        program,
        arguments: arguments.collect(),
    })
}

/// What a dollar sign in a word is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Dollar {
    /// Nothing special there: in the program and in assignments.
    Plain,
    /// It would begin a variable.
    Doubled,
}

/// One word, as `systemd.service(5)` and `systemd.syntax(7)` want it.
fn quoted(word: &str, dollar: Dollar) -> String {
    let mut quoted = String::from("\"");
    for c in word.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            '%' => quoted.push_str("%%"),
            '$' if dollar == Dollar::Doubled => quoted.push_str("$$"),
            c if c.is_ascii_control() => quoted.extend(format!("\\x{:02x}", u32::from(c)).chars()),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

/// The words of a line that was made of [`quoted`] ones, `%%` and `$$` left as they are.
fn unquoted(line: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut rest = line.trim_start().chars();
    while let Some('"') = rest.next() {
        let mut word = String::new();
        loop {
            match rest.next()? {
                '"' => break,
                '\\' => match rest.next()? {
                    'x' => {
                        let digits: String = rest.by_ref().take(2).collect();
                        let code = u8::from_str_radix(&digits, 16).ok()?;
                        word.push(char::from(code));
                    }
                    c => word.push(c),
                },
                c => word.push(c),
            }
        }
        words.push(word);
        // The blank between two words.
        rest.next();
    }
    Some(words)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{super::definition::ServiceDefinition, parse, unit};

    fn definition(program: &str, arguments: &[&str]) -> ServiceDefinition {
        ServiceDefinition {
            program: program.to_owned(),
            arguments: arguments.iter().map(|&text| text.to_owned()).collect(),
            variables: Vec::new(),
            environment_file: "/home/ada/.config/mcpproxy/mcpproxy.env".to_owned(),
            log_folder: "/home/ada/logs".to_owned(),
        }
    }

    #[test]
    fn a_unit_says_how_the_daemon_is_started_watched_and_ended() {
        let mut definition = definition(
            "/opt/my tools/mcpproxy",
            &["--config", "/home/ada/50%/$x \"y\"\\z.json", "serve"],
        );
        definition.variables = vec![("XDG_DATA_HOME".to_owned(), "/data of/ada".to_owned())];
        definition.environment_file = "/home/ada/50%/mcpproxy.env".to_owned();
        let unit = unit(&definition);
        let lines: Vec<&str> = unit.lines().collect();
        for expected in [
            "Type=notify",
            r#"ExecStart="/opt/my tools/mcpproxy" "--config" "/home/ada/50%%/$$x \"y\"\\z.json" "serve""#,
            r#"Environment="XDG_DATA_HOME=/data of/ada""#,
            "EnvironmentFile=-/home/ada/50%%/mcpproxy.env",
            "Restart=on-failure",
            "StartLimitBurst=10",
            "WatchdogSec=60",
            "KillMode=mixed",
            "OOMPolicy=continue",
            "WantedBy=default.target",
        ] {
            assert!(lines.contains(&expected), "no {expected} in:\n{unit}");
        }
        // They imply NoNewPrivileges or a user namespace, which breaks servers that use sudo, docker or podman.
        for harmful in [
            "NoNewPrivileges",
            "Private",
            "Protect",
            "Restrict",
            "SystemCall",
        ] {
            let sets = |line: &&str| line.starts_with(harmful);
            assert!(!lines.iter().any(sets), "{harmful}");
        }
    }

    proptest! {
        #[test]
        fn what_a_unit_starts_reads_back(words in prop::collection::vec("[ -~\\t\u{e9}]{0,12}", 1..6)) {
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let program = "/p %$\"\\ x";
            let read = parse(&unit(&definition(program, &words))).expect("a unit of ours");
            prop_assert_eq!(read.program, program);
            prop_assert_eq!(read.arguments, words);
        }
    }
}
