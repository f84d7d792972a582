//! The JSON Schema of the configuration file, for editors and for `config schema`.

/// The schema as text.
pub const SCHEMA: &str = include_str!("schema.json");

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::Value;

    use super::SCHEMA;
    use crate::config::{parse, read_entry};

    /// Restrictions of the Go program that are read too.
    const GO_PROGRAM: &[&str] = &[
        "require_mcp_auth",
        "read_only_mode",
        "disable_management",
        "docker_isolation",
    ];

    fn keys(object: &Value) -> BTreeSet<&str> {
        let object = object.as_object().expect("an object");
        object.keys().map(String::as_str).collect()
    }

    /// Every key that is read, of the top level and of servers.
    fn all_keys() -> impl Iterator<Item = &'static str> {
        parse::KEYS.iter().chain(read_entry::KEYS).copied()
    }

    #[test]
    fn the_page_of_the_configuration_names_every_key() {
        let page = include_str!("../../docs/configuration.md");
        let is_missing =
            |key: &&str| !page.contains(&format!("`{key}`")) && !page.contains(&format!("`{key}."));
        let missing: Vec<&str> = all_keys().filter(is_missing).collect();
        assert!(
            missing.is_empty(),
            "docs/configuration.md lacks {missing:?}"
        );
    }

    #[test]
    fn the_schema_knows_the_keys_that_are_read() {
        let schema: Value = serde_json::from_str(SCHEMA).expect("good JSON");
        let known = |lists: &[&[&'static str]]| lists.iter().copied().flatten().copied().collect();
        let top: BTreeSet<&str> = known(&[parse::KEYS, parse::NOTES, GO_PROGRAM]);
        assert_eq!(keys(&schema["properties"]), top);
        let entry: BTreeSet<&str> = known(&[read_entry::KEYS]);
        assert_eq!(keys(&schema["$defs"]["server"]["properties"]), entry);
    }
}
