//! Cuts texts and identifiers into words: `createIssue`, `create_issue` and `HTTPServer2` all come apart. Pure.

/// The words of a text, lower case, in order.
pub fn words_of(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let characters: Vec<char> = text.chars().collect();
    for (i, &c) in characters.iter().enumerate() {
        if !c.is_alphanumeric() {
            if !word.is_empty() {
                words.push(std::mem::take(&mut word).to_lowercase());
            }
            continue;
        }
        let before = i.checked_sub(1).and_then(|i| characters.get(i)).copied();
        let after = characters.get(i + 1).copied();
        if before.is_some_and(|before| is_border(before, c, after)) && !word.is_empty() {
            words.push(std::mem::take(&mut word).to_lowercase());
        }
        word.push(c);
    }
    if !word.is_empty() {
        words.push(word.to_lowercase());
    }
    words
}

/// Whether an identifier comes apart between `before` and `c`.
fn is_border(before: char, c: char, after: Option<char>) -> bool {
    let acronym_ends =
        before.is_uppercase() && c.is_uppercase() && after.is_some_and(char::is_lowercase);
    (before.is_lowercase() && c.is_uppercase())
        || acronym_ends
        || before.is_numeric() != c.is_numeric()
}
