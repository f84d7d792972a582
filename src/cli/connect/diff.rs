//! What changes in a file, as lines. Files of clients hold secrets of others, so every line is masked.

use crate::config;

/// Lines that are shown before and after a change.
const AROUND: usize = 3;

/// The changed lines with some around them: `-` is what goes, `+` what comes. Our changes are in one place.
pub(super) fn lines(before: &str, after: &str) -> Vec<String> {
    let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    let same = |pair: &(&&str, &&str)| pair.0 == pair.1;
    let head = old.iter().zip(&new).take_while(same).count();
    let most = old.len().min(new.len()) - head;
    let tail = old
        .iter()
        .rev()
        .zip(new.iter().rev())
        .take(most)
        .take_while(same)
        .count();
    let (old_end, new_end) = (old.len() - tail, new.len() - tail);
    if head == old_end && head == new_end {
        return Vec::new();
    }
    let shown = |sign: &str, lines: &[&str]| {
        let masked = lines
            .iter()
            .map(|line| format!("{sign}{}", config::mask_text_of_strangers(line)));
        masked.collect::<Vec<String>>()
    };
    let part = |lines: &[&str], from: usize, to: usize, sign: &str| {
        shown(sign, lines.get(from..to).unwrap_or_default())
    };
    [
        part(&old, head.saturating_sub(AROUND), head, " "),
        part(&old, head, old_end, "-"),
        part(&new, head, new_end, "+"),
        part(&new, new_end, (new_end + AROUND).min(new.len()), " "),
    ]
    .concat()
}

#[cfg(test)]
mod tests {
    use super::lines;

    #[test]
    fn what_changes_is_shown_with_what_is_around_it_and_no_secret() {
        let before = "a\nb\nc\nd\n\"TOKEN\": \"ghp_0123456789abcdefghijABCDEFGHIJ012345\"\ne\n";
        let after = before.replace("e\n", "e,\nf\n");
        let shown = lines(before, &after);
        assert_eq!(shown.first().map(String::as_str), Some(" c"));
        assert_eq!(
            shown.get(3..),
            Some(&["-e".to_owned(), "+e,".to_owned(), "+f".to_owned()][..])
        );
        assert!(!shown.concat().contains("ghp_"), "{shown:?}");
        assert!(lines("a\n", "a\n").is_empty());
        assert_eq!(lines("", "a\n"), ["+a"]);
        assert_eq!(lines("a\na\n", "a\na\na\n"), [" a", " a", "+a"]);
    }
}
