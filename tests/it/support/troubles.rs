//! What servers of a bad day do with a call: they note that it ran, and answer at length.

use std::{fs::File, io::Write, path::Path, time::Duration};

use serde::Deserialize;
use serde_json::Value;

/// What a call says of itself.
#[derive(Default, Deserialize)]
#[serde(default)]
pub struct Given {
    /// What makes it the only one of its kind.
    token: String,
    /// How many characters the answer has beside the arguments.
    length: usize,
    /// How many milliseconds it takes.
    milliseconds: u64,
}

impl Given {
    pub fn of(arguments: &str) -> Self {
        serde_json::from_str(arguments).unwrap_or_default()
    }

    /// Takes as long as it says.
    pub async fn take_time(&self) {
        tokio::time::sleep(Duration::from_millis(self.milliseconds)).await;
    }

    /// The arguments, and a text of the length that they ask for.
    pub fn echoed_at_length(&self, arguments: &str) -> String {
        let text = Value::from(arguments);
        let more = match self.length {
            0 => String::new(),
            length => format!(r#",{{"type":"text","text":"{}"}}"#, "x".repeat(length)),
        };
        format!(
            r#"{{"content":[{{"type":"text","text":{text}}}{more}],"structuredContent":{arguments}}}"#
        )
    }

    /// Adds the token to the file at once, so that it is there even if the process is killed in the next moment.
    pub fn journal(&self, file: &Path) {
        let opened = File::options().create(true).append(true).open(file);
        let mut file = opened.expect("the folder of the test is there");
        let line = format!("{}\n", self.token);
        file.write_all(line.as_bytes())
            .expect("the folder has room");
    }
}
