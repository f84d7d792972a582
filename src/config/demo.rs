//! The bundled demo server: a server in the settings that has no entry in the file.

use std::{io, path::PathBuf, sync::Arc};

use serde_json::{Map, json};

use super::{DemoOrigin, Settings, resolve::read_alone};
use crate::{runtime::sync::Guarded, text::ServerName};

/// The name of the bundled demo server.
pub const DEMO: &str = "demo";

/// The path of this program, which runs as the demo server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DemoProgram(String);

impl DemoProgram {
    /// What to do where [`DemoProgram::at`] refuses the path.
    pub const MOVE: &str =
        "Move mcpproxy to a folder whose path is UTF-8, and start the daemon from there.";

    /// The program at this path. The command of an entry is a string, so the path must be Unicode.
    pub fn at(path: PathBuf) -> io::Result<Self> {
        let text = path.into_os_string().into_string();
        text.map(Self).map_err(|path| {
            let path = path.display();
            io::Error::other(format!("the path of mcpproxy is not UTF-8: {path}"))
        })
    }

    /// Adds the demo server unless its name is taken, and says whether it did.
    pub(super) fn add_to(&self, settings: &mut Settings, origin: DemoOrigin) -> bool {
        if namesake(settings).is_some() {
            return false;
        }
        let name = ServerName::parse(DEMO).expect("it is a name");
        let command = self.0.replace("${", "$${");
        let written = [
            ("command", json!(command)),
            ("args", json!(["demo-server"])),
        ];
        let written = Map::from_iter(written.map(|(key, value)| (key.to_owned(), value)));
        let entry = read_alone(&name, &written).expect("a program and its argument are an entry");
        settings.servers.insert(name, Arc::new(entry));
        settings.demo = Some(origin);
        true
    }
}

/// The entry in the file, usable or broken, that has the name of the demo server, ignoring case.
pub(super) fn namesake(settings: &Settings) -> Option<&str> {
    let sound = settings.servers.keys().map(ServerName::as_str);
    let broken = settings.broken.iter().map(|broken| &*broken.name);
    let mut names = sound.chain(broken);
    names
        .find(|name| name.eq_ignore_ascii_case(DEMO))
        .filter(|_| settings.demo.is_none())
}

/// Whether the demo server was started on request while the daemon runs, and its program.
#[derive(Default)]
pub(super) struct DemoSwitch(Guarded<Option<DemoProgram>>);

impl DemoSwitch {
    /// Switches it on, and says whether it was off.
    pub(super) fn start(&self, program: DemoProgram) -> bool {
        let mut runs = self.0.lock();
        let was_off = runs.is_none();
        runs.get_or_insert(program);
        was_off
    }

    /// The program, if it is on.
    pub(super) fn program(&self) -> Option<DemoProgram> {
        self.0.lock().clone()
    }

    /// Switches it off, and says whether it was on.
    pub(super) fn end(&self) -> bool {
        self.0.lock().take().is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_demo_server_runs_the_program_whose_path_is_given() {
        let program = DemoProgram::at("/opt/${x}/mcpproxy".into()).expect("it is Unicode");
        let mut settings = Settings::default();
        assert!(program.add_to(&mut settings, DemoOrigin::Request));
        let shown = settings.servers[DEMO].shown();
        assert_eq!(shown["args"], json!(["demo-server"]));
        let crate::config::Transport::Stdio(stdio) = &settings.servers[DEMO].transport else {
            panic!("{shown}");
        };
        assert_eq!(stdio.command, "/opt/${x}/mcpproxy");
        assert!(!program.add_to(
            &mut Settings {
                demo: None,
                ..settings
            },
            DemoOrigin::Request
        ));
    }

    #[cfg(unix)]
    #[test]
    fn a_path_that_is_not_unicode_is_no_taken_name() {
        use std::os::unix::ffi::OsStringExt;
        let path = std::ffi::OsString::from_vec(b"/opt/\xff/mcpproxy".to_vec());
        let error = DemoProgram::at(path.into()).expect_err("it is no text");
        assert!(error.to_string().contains("not UTF-8"), "{error}");
    }
}
