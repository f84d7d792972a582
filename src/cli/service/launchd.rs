//! The property list of a launchd agent: `Interactive`, because macOS slows down agents of the default type.

use super::definition::{MARK, ServiceDefinition};

/// The agent's name.
pub(super) const LABEL: &str = "local.mcpproxy";

/// The property list's text.
pub(super) fn agent(definition: &ServiceDefinition) -> String {
    let log_file = format!("{}/daemon.log", definition.log_folder);
    let early = escaped(&format!("{}/service.log", definition.log_folder));
    // launchd keeps no log, and a file that it writes output to grows without end. So the daemon writes its own log file.
    let keeps_log = ["--log-file", &log_file].map(str::to_owned);
    let command = &definition.command;
    let words = [&command.program].into_iter();
    let words = words.chain(&command.arguments).chain(&keeps_log);
    let words = words.map(|word| format!("\n    <string>{}</string>", escaped(word)));
    let words = words.collect::<Vec<String>>().concat();
    format!(
        include_str!("local.mcpproxy.plist"),
        MARK = MARK,
        LABEL = LABEL,
        record = command.record(),
        words = words,
        early = early,
    )
}

/// Text escaped for XML.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            // A parser may read it as a line end.
            '\r' => escaped.push_str("&#13;"),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::{
        super::definition::{CommandLine, ServiceDefinition},
        agent,
    };

    #[test]
    fn an_agent_is_kept_alive_when_it_fails_and_logs_where_logs_are_cut() {
        let definition = ServiceDefinition {
            command: CommandLine {
                program: "/opt/a & b/mcpproxy".to_owned(),
                arguments: ["--config", "/Users/ada/<x>&amp;.json", "serve"]
                    .map(str::to_owned)
                    .to_vec(),
            },
            variables: Vec::new(),
            environment_file: String::new(),
            log_folder: "/Users/ada/Library/Application Support/mcpproxy/logs".to_owned(),
        };
        let agent = agent(&definition);
        for expected in [
            "<string>/opt/a &amp; b/mcpproxy</string>",
            "<string>/Users/ada/&lt;x&gt;&amp;amp;.json</string>",
            "<string>--log-file</string>\n    <string>/Users/ada/Library/Application Support/mcpproxy/logs/daemon.log</string>",
            "<key>SuccessfulExit</key>\n    <false/>",
            "<key>ThrottleInterval</key>\n  <integer>10</integer>",
            "mcpproxy/logs/service.log</string>",
        ] {
            assert!(agent.contains(expected), "no {expected} in:\n{agent}");
        }
        let recorded = CommandLine::recorded_in(&agent);
        assert_eq!(recorded, Some(definition.command));
        let (_, comment) = agent.split_once("<!--").expect("a comment");
        let (comment, _) = comment.split_once("-->").expect("its end");
        assert!(!comment.contains("--"), "{comment}");
    }
}
