//! Which servers would lack something as a service: references to variables that a service does not get, whether they are set in this
//! shell or not.

use std::{collections::BTreeSet, fs, path::Path, sync::Arc};

use crate::config;

/// The servers whose entries refer to variables that are not among these, which a service has.
pub(super) fn servers_that_lack_variables(
    config_file: &Path,
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
    let broken = there.broken.into_iter();
    let lacking = broken.filter(|broken| config::lacks_variable(&broken.reason));
    lacking.map(|broken| broken.name).collect()
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

    #[test]
    fn a_server_whose_variable_a_service_does_not_get_is_named() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let file = folder.path().join("mcp_config.json");
        // Tests are always given it.
        let text = r#"{ "mcpServers": { "a": { "command": "x", "env": { "K": "${PATH}" } }, "b": { "command": "x", "env": { "H": "${HOME}" } }, "c": { "command": "x", "env": { "N": "${NOT_SET_ANYWHERE}" } } } }"#;
        fs::write(&file, text).expect("writable");
        let none = given("LANG=C\n", Path::new("/no/such/file"));
        assert_eq!(servers_that_lack_variables(&file, &none), ["a", "c"]);
        let environment_file = folder.path().join("mcpproxy.env");
        fs::write(&environment_file, "# keys\nPATH=x\n").expect("writable");
        let some = given("", &environment_file);
        assert_eq!(
            servers_that_lack_variables(&file, &some),
            ["c"],
            "what is set nowhere is lacking here and there"
        );
    }
}
