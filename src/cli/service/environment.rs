//! Which servers would lack something as a service: references to variables that are set in this shell, and that a service does
//! not get.

use std::{collections::BTreeSet, fs, path::Path, sync::Arc};

use crate::config::{self, Settings};

/// The servers whose entries can be used here and not in a service that has these variables.
pub(super) fn servers_that_lack_variables(
    config_file: &Path,
    here: &Settings,
    given: &BTreeSet<String>,
) -> Vec<String> {
    let (process, given) = (config::process_environment(), given.clone());
    let variables: config::Variables = Arc::new(move |name| {
        given
            .contains(name)
            .then(|| process(name).unwrap_or_default())
    });
    // Secrets by name are the same there as here.
    let Ok(there) = config::load(config_file, &variables, &config::no_values()) else {
        return Vec::new();
    };
    let lacking = there.broken.into_iter().map(|broken| broken.name);
    lacking
        .filter(|name| here.servers.keys().any(|sound| sound.as_str() == name))
        .collect()
}

/// The variables that a service has: those of the manager, and those of a file that it reads.
pub(super) fn given(manager: &str, file: &Path) -> BTreeSet<String> {
    let file = fs::read_to_string(file).unwrap_or_default();
    let lines = manager.lines().chain(file.lines());
    let names = lines.filter_map(|line| line.split_once('='));
    let names = names.map(|(name, _)| name.trim().to_owned());
    names.chain(["HOME".to_owned()]).collect()
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    use super::{given, servers_that_lack_variables};
    use crate::config;

    #[test]
    fn a_server_whose_variable_only_this_shell_has_is_named() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let file = folder.path().join("mcp_config.json");
        // Tests are always given it.
        let text = r#"{ "mcpServers": { "a": { "command": "x", "env": { "K": "${PATH}" } }, "b": { "command": "x", "env": { "H": "${HOME}" } }, "c": { "command": "x", "env": { "N": "${NOT_SET_ANYWHERE}" } } } }"#;
        fs::write(&file, text).expect("writable");
        let here = config::load(&file, &config::process_environment(), &config::no_values())
            .expect("it is sound");
        let none = given("LANG=C\n", Path::new("/no/such/file"));
        assert_eq!(servers_that_lack_variables(&file, &here, &none), ["a"]);
        let environment_file = folder.path().join("mcpproxy.env");
        fs::write(&environment_file, "# keys\nPATH=x\n").expect("writable");
        let some = given("", &environment_file);
        assert_eq!(
            servers_that_lack_variables(&file, &here, &some),
            [] as [&str; 0]
        );
    }
}
