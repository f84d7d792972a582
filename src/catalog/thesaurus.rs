//! Synonyms in the descriptions of what a tool does: general verbs, and nouns that occur on every computer. No words of a subject area:
//! those are in the tools' own descriptions. Pure.

use std::{
    collections::{BTreeSet, HashMap},
    sync::LazyLock,
};

use super::tokenizer::stem;

/// One group of synonyms per line; a word may be in several groups.
const GROUPS: &str = "\
get fetch retrieve read obtain load
search find lookup query discover
create make add new generate build
delete remove erase
update edit modify change set
list show display enumerate
send post publish submit
run execute
download save
convert transform
calculate compute
copy duplicate clone
start launch open
stop end terminate
check validate verify
compare diff
combine merge join
extract parse
summarize summary
folder directory
file document
url link
email mail
repository repo
setting config configuration";

/// The synonyms of a term, without itself.
pub(super) fn similar(term: &str) -> &'static [String] {
    static SIMILAR: LazyLock<HashMap<String, Vec<String>>> = LazyLock::new(table);
    SIMILAR.get(term).map_or(&[], Vec::as_slice)
}

fn table() -> HashMap<String, Vec<String>> {
    let mut table: HashMap<String, BTreeSet<String>> = HashMap::new();
    for group in GROUPS.lines() {
        let terms: Vec<String> = group.split_whitespace().map(stem).collect();
        for term in &terms {
            let others = terms.iter().filter(|other| *other != term).cloned();
            table.entry(term.clone()).or_default().extend(others);
        }
    }
    let listed = table
        .into_iter()
        .map(|(term, others)| (term, others.into_iter().collect()));
    listed.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_a_group_are_synonyms() {
        let has = |term: &str, other: &str| similar(&stem(term)).contains(&stem(other));
        assert!(has("fetch", "get") && has("get", "fetch") && has("directories", "folder"));
        assert!(!has("get", "get") && !has("get", "delete"));
        assert!(similar("zebra").is_empty());
    }

    #[test]
    fn every_line_is_a_group() {
        for group in GROUPS.lines() {
            let words: BTreeSet<String> = group.split_whitespace().map(stem).collect();
            assert!(words.len() > 1, "{group:?}");
        }
    }
}
