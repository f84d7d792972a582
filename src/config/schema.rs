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
    fn the_page_of_the_configuration_names_no_other_key() {
        let page = include_str!("../../docs/configuration.md");
        let tables = page
            .split("\n## ")
            .filter(|part| part.starts_with("Servers\n") || part.starts_with("Top level\n"));
        let cells = tables
            .flat_map(str::lines)
            .filter_map(|line| line.strip_prefix("| ")?.split(" | ").next());
        let named: Vec<&str> = cells
            .flat_map(|cell| cell.split('`').skip(1).step_by(2))
            .map(|key| key.split('.').next().unwrap_or(key))
            .collect();
        assert!(named.len() > 40, "the tables are there: {named:?}");
        let known: BTreeSet<&str> = all_keys().chain(GO_PROGRAM.iter().copied()).collect();
        let unknown: Vec<&&str> = named.iter().filter(|key| !known.contains(**key)).collect();
        assert!(unknown.is_empty(), "nothing reads {unknown:?}");
    }

    /// Also the keys inside of others: `activity.max_age`, `serverAuth.acl`.
    #[test]
    fn some_page_names_every_key_of_the_schema() {
        fn inner_keys(value: &Value, found: &mut BTreeSet<String>) {
            let inner: Vec<&Value> = match value {
                Value::Object(map) => {
                    if let Some(Value::Object(keys)) = map.get("properties") {
                        found.extend(keys.keys().cloned());
                    }
                    map.values().collect()
                }
                Value::Array(all) => all.iter().collect(),
                _ => return,
            };
            for value in inner {
                inner_keys(value, found);
            }
        }
        const PAGES: &[&str] = &[
            include_str!("../../docs/configuration.md"),
            include_str!("../../docs/access.md"),
            include_str!("../../docs/activity.md"),
            include_str!("../../docs/isolation.md"),
            include_str!("../../docs/migrating.md"),
            include_str!("../../docs/oauth.md"),
        ];
        let schema: Value = serde_json::from_str(SCHEMA).expect("good JSON");
        let mut keys = BTreeSet::new();
        inner_keys(&schema, &mut keys);
        // Of an editor, not of ours.
        keys.remove("$schema");
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let words: BTreeSet<&str> = PAGES
            .iter()
            .flat_map(|page| page.split(|c| !is_word(c)))
            .collect();
        let missing: Vec<&String> = keys
            .iter()
            .filter(|key| !words.contains(key.as_str()))
            .collect();
        assert!(missing.is_empty(), "no page names {missing:?}");
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
