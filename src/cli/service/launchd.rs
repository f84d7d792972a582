//! The property list of a launchd agent: its text, and reading back what it starts. Why it says what it says: `docs/service.md`.

use super::definition::{Installed, MARK, ServiceDefinition};

/// The agent's name.
pub(super) const LABEL: &str = "local.mcpproxy";

const ARGUMENTS: &str = "<key>ProgramArguments</key>";

/// The property list's text.
pub(super) fn agent(definition: &ServiceDefinition) -> String {
    let log_file = format!("{}/daemon.log", definition.log_folder);
    let early = escaped(&format!("{}/service.log", definition.log_folder));
    // launchd keeps no log, and never cuts a file that it writes to.
    let keeps_log = ["--log-file", &log_file].map(str::to_owned);
    let words = [&definition.program]
        .into_iter()
        .chain(without_log_file(&definition.arguments))
        .chain(&keeps_log);
    let words = words.map(|word| format!("\n    <string>{}</string>", escaped(word)));
    let words = words.collect::<Vec<String>>().concat();
    format!(
        r#"<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<!-- {MARK}, which also replaces it. `mcpproxy service uninstall` removes this file. -->
<plist version="1.0">
<dict>
  <key>Label</key>
  <string>{LABEL}</string>
  {ARGUMENTS}
  <array>{words}
  </array>
  <key>RunAtLoad</key>
  <true/>
  <key>KeepAlive</key>
  <dict>
    <key>SuccessfulExit</key>
    <false/>
  </dict>
  <key>ThrottleInterval</key>
  <integer>10</integer>
  <key>ExitTimeOut</key>
  <integer>45</integer>
  <key>ProcessType</key>
  <string>Interactive</string>
  <key>HardResourceLimits</key>
  <dict>
    <key>Core</key>
    <integer>0</integer>
  </dict>
  <key>StandardOutPath</key>
  <string>{early}</string>
  <key>StandardErrorPath</key>
  <string>{early}</string>
</dict>
</plist>
"#
    )
}

/// What an agent of ours starts.
pub(super) fn parse(text: &str) -> Option<Installed> {
    let (_, rest) = text.split_once(ARGUMENTS)?;
    let (array, _) = rest.split_once("</array>")?;
    let words = array.split("<string>").skip(1);
    let words = words.map(|word| Some(unescaped(word.split_once("</string>")?.0)));
    let mut words = words.collect::<Option<Vec<String>>>()?.into_iter();
    Some(Installed {
        program: words.next()?,
        arguments: words.collect(),
    })
}

/// The log file is ours to choose, and stands at the end.
fn without_log_file(arguments: &[String]) -> &[String] {
    let at = arguments.iter().position(|word| word == "--log-file");
    arguments
        .get(..at.unwrap_or(arguments.len()))
        .unwrap_or(arguments)
}

/// Text as it stands between two tags.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            // Parsers may take it for a line end.
            '\r' => escaped.push_str("&#13;"),
            c => escaped.push(c),
        }
    }
    escaped
}

fn unescaped(text: &str) -> String {
    text.replace("&#13;", "\r")
        .replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&amp;", "&")
}

#[cfg(test)]
mod tests {
    use super::{super::definition::ServiceDefinition, agent, parse};

    #[test]
    fn an_agent_is_kept_alive_when_it_fails_and_logs_where_logs_are_cut() {
        let definition = ServiceDefinition {
            program: "/opt/a & b/mcpproxy".to_owned(),
            arguments: ["--config", "/Users/ada/<x>&amp;.json", "serve"]
                .map(str::to_owned)
                .to_vec(),
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
        let read = parse(&agent).expect("an agent of ours");
        assert_eq!(read.program, definition.program);
        assert_eq!(read.arguments.get(..3), Some(&definition.arguments[..]));
        // Written anew with what was read it is the same.
        let again = definition.with_arguments_of(&read);
        assert_eq!(super::agent(&again), agent);
    }
}
