//! What of texts that strangers wrote in lists, and in pairs of a name and a value, is a secret because of what stands beside it.

use super::{
    key_blocks::{BLOCK, BLOCK_END, places},
    masking::{is_one_of, is_secret_flag, is_secret_name},
    secret_words::{LONGEST_NAME, is_login, is_of_name, is_scheme, is_user_flag},
};

/// What the name of a value is called in a pair of both, and what the value.
const NAMES: [&str; 12] = [
    "name",
    "key",
    "header",
    "variable",
    "var",
    "env",
    "field",
    "param",
    "parameter",
    "option",
    "flag",
    "k",
];
const VALUES: [&str; 7] = ["value", "values", "val", "v", "content", "default", "data"];

/// Whether a member says how the value beside it is called, and that it is a secret: `"name": "DB_PASSWORD"`.
pub fn says_secret(key: &str, text: &str) -> bool {
    is_one_of(key, &NAMES) && is_bare_name(text)
}

/// Whether a member is the value that another one gives a name to.
pub fn is_named_value(key: &str) -> bool {
    is_one_of(key, &VALUES)
}

/// Texts of one list, in order: arguments of a command, headers and their values, lines of a key.
#[derive(Debug, Default)]
pub struct TextsOfList {
    follows_name: bool,
    follows_user_flag: bool,
    in_block: bool,
}

impl TextsOfList {
    /// Whether the next text is a secret because of those before it.
    pub fn is_secret(&mut self, text: &str) -> bool {
        let is_login = self.follows_user_flag && is_login(text);
        let is_secret = self.follows_name || self.in_block || is_login;
        self.follows_name = is_secret_flag(text) || is_bare_name(text) || is_scheme(text);
        self.follows_user_flag = is_user_flag(text);
        let begins = places(text, BLOCK).next_back();
        let ends = places(text, BLOCK_END).next_back();
        self.in_block = match (begins, ends) {
            (None, None) => self.in_block,
            (begins, ends) => begins > ends,
        };
        is_secret
    }

    /// Whether a list or an object, which comes next, is a secret in all its parts.
    pub fn is_secret_value(&mut self) -> bool {
        let is_secret = self.follows_name || self.in_block;
        self.pass();
        is_secret
    }

    /// Something that can be no secret comes next. A null stands for nothing, and what comes after it is still looked at.
    pub fn pass(&mut self) {
        self.follows_name = false;
        self.follows_user_flag = false;
    }
}

/// Whether a text is the name of a secret and nothing else.
fn is_bare_name(text: &str) -> bool {
    let name = text.trim_end_matches([':', '=']);
    name.len() <= LONGEST_NAME && name.chars().all(is_of_name) && is_secret_name(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_in_a_list_is_masked_by_what_stands_before_it() {
        let check = |texts: &[&str], expected: &[bool]| {
            let mut list = TextsOfList::default();
            let found: Vec<bool> = texts.iter().map(|text| list.is_secret(text)).collect();
            assert_eq!(found, expected, "{texts:?}");
        };
        check(&["--password", "x", "y"], &[false, true, false]);
        check(&["--password=z", "x"], &[false, false]);
        check(
            &["Authorization", "x", "Accept", "y"],
            &[false, true, false, false],
        );
        check(&["Bearer", "x"], &[false, true]);
        check(
            &["-----BEGIN K-----", "a", "-----END K-----", "b"],
            &[false, true, true, false],
        );
        check(&["my token is", "x"], &[false, false]);
        assert!(says_secret("Name", "DB_PASSWORD") && !says_secret("name", "path"));
        assert!(!says_secret("title", "password") && is_named_value("value"));
    }

    #[test]
    fn a_list_or_an_object_after_a_name_is_a_secret_too() {
        let mut list = TextsOfList::default();
        assert!(!list.is_secret_value() && !list.is_secret("--password"));
        assert!(list.is_secret_value() && !list.is_secret_value());
        assert!(!list.is_secret("-u") && list.is_secret("bob:S"));
        assert!(!list.is_secret("-u") && !list.is_secret("1000:1000"));
    }
}
