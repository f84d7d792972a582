//! The unit of a systemd user manager. Its comments say why; `docs/service.md` says why it restricts nothing.

use super::definition::{MARK, ServiceDefinition};

/// The unit's name.
pub(super) const UNIT: &str = "mcpproxy.service";

/// The unit's text.
pub(super) fn unit(definition: &ServiceDefinition) -> String {
    let program = quoted(&definition.command.program, Dollar::Plain);
    let arguments = definition.command.arguments.iter();
    let arguments = arguments.map(|argument| format!(" {}", quoted(argument, Dollar::Doubled)));
    let variables = definition.variables.iter().map(|(name, value)| {
        let variable = quoted(&format!("{name}={value}"), Dollar::Plain);
        format!("Environment={variable}\n")
    });
    let (arguments, variables): (String, String) = (arguments.collect(), variables.collect());
    format!(
        include_str!("mcpproxy.service"),
        MARK = MARK,
        UNIT = UNIT,
        record = definition.command.record(),
        program = program,
        arguments = arguments,
        variables = variables,
        environment_file = definition.environment_file.replace('%', "%%"),
    )
}

/// How a dollar sign is written in a word.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Dollar {
    /// As it is: in the program and in assignments, where systemd expands no variables.
    Plain,
    /// Twice: in arguments, where one would begin a variable.
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

#[cfg(test)]
mod tests {
    use super::{
        super::definition::{CommandLine, ServiceDefinition},
        unit,
    };

    #[test]
    fn a_unit_says_how_the_daemon_is_started_watched_and_ended() {
        let arguments = ["--config", "/home/ada/50%/$x \"y\"\\z.json", "serve"];
        let command = CommandLine {
            program: "/opt/my tools/mcpproxy".to_owned(),
            arguments: arguments.map(str::to_owned).to_vec(),
        };
        let definition = ServiceDefinition {
            command: command.clone(),
            variables: vec![("XDG_DATA_HOME".to_owned(), "/data of/ada".to_owned())],
            environment_file: "/home/ada/50%/mcpproxy.env".to_owned(),
            log_folder: "/home/ada/logs".to_owned(),
        };
        let unit = unit(&definition);
        assert_eq!(CommandLine::recorded_in(&unit), Some(command));
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
}
