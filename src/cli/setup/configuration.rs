//! Step 1 of `mcpproxy setup`: writes the configuration file, with the chosen address.

use std::path::Path;

use serde_json::json;

use super::{
    super::{Done, Output, output},
    SetupReport,
    report::say_step,
};
use crate::{
    config::{self, EditError, Listen},
    management::Files,
};

/// The text of a new configuration file.
const BEGINNING: &str = "\
{
  // The servers behind mcpproxy: `mcpproxy upstream add` and `mcpproxy import` write here, too.
  \"mcpServers\": {}
}
";

/// Writes a configuration file if there is none, and the chosen address into it.
pub(super) fn configure(
    files: &Files,
    listen: Option<Listen>,
    report: &mut SetupReport,
    out: Output,
) -> Done {
    let file = files.config_file();
    report.config_created = !file.exists();
    let is_written = (report.config_created || listen.is_some())
        && files.rewrite_text(|text| with_address(text, listen))?;
    if let Some(listen) = listen.filter(|_| is_written) {
        out.note(&format!("\"listen\" is now {listen} in {}", file.display()));
    }
    // References are resolved when they are used, so a missing value is no failure here.
    let settings = files.supposed_settings()?.settings;
    let servers = settings.servers.len() + settings.broken.len();
    say_step(1, &summary(file, report.config_created, servers), out);
    Ok(())
}

/// The text of the file with the address, so that later daemons and clients use the same one.
fn with_address(text: &str, listen: Option<Listen>) -> Result<String, EditError> {
    let is_empty = text.trim().is_empty();
    let text = if is_empty { BEGINNING } else { text };
    let Some(listen) = listen else {
        return Ok(text.to_owned());
    };
    let key = ["listen".to_owned()];
    config::json_with(text, &key, &json!(listen.to_string()))?.ok_or(EditError::NoKey)
}

fn summary(file: &Path, is_new: bool, servers: usize) -> String {
    let did = if is_new { "created" } else { "exists" };
    let has = match servers {
        0 => "no server yet".to_owned(),
        n => output::count(n, "server"),
    };
    format!("configuration {did}: {} ({has})", file.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_put_into_the_file_that_is_there_or_into_a_new_one() {
        let check = |before: &str, listen: Option<&str>, expected: &str| {
            let listen = listen.map(|text| text.parse().expect("an address"));
            let after = with_address(before, listen).expect("it can be edited");
            assert_eq!(after, expected, "{before}");
        };
        check(" \n", None, BEGINNING);
        let with_port = BEGINNING.replace("{}\n", "{},\n  \"listen\": \"127.0.0.1:8081\"\n");
        check("", Some("127.0.0.1:8081"), &with_port);
        check("{ /* mine */ }", None, "{ /* mine */ }");
        check(
            r#"{"listen": ":1", /* mine */ "top_k": 3}"#,
            Some("localhost:2"),
            r#"{"listen": "localhost:2", /* mine */ "top_k": 3}"#,
        );
        with_address("{", Some(Listen::default())).expect_err("it is cut");
    }
}
