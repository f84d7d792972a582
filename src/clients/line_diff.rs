//! What changes in a file, as lines. Files of clients hold secrets of others, so every line is redacted.

use crate::{
    management,
    text::{ListContext, MASK, TextKind, redact},
};

/// The changed lines with some around them: `-` is what goes, `+` what comes.
pub(super) fn lines(before: &str, after: &str) -> Vec<String> {
    let [before, after] = [before, after].map(|text| {
        let mut texts = ListContext::default();
        let lines = text.lines().map(|line| redacted(line, &mut texts) + "\n");
        lines.collect::<String>()
    });
    management::changed_lines(&before, &after)
}

/// A line without secrets: those that look like one, and those that a text before them introduces, as `"--token", "…"` does.
fn redacted(line: &str, texts: &mut ListContext) -> String {
    let mut kept = String::with_capacity(line.len());
    let Some(quote) = line.chars().find(|c| matches!(c, '"' | '\'')) else {
        let bare = line.trim().trim_start_matches("- ");
        let is_secret = !bare.is_empty() && texts.hide(bare);
        kept.push_str(if is_secret { MASK } else { line });
        return redact::redacted(&kept, TextKind::Prose).into_owned();
    };
    let mut shown = String::new();
    for (i, piece) in line.split(quote).enumerate() {
        if i > 0 {
            kept.push(quote);
        }
        let is_secret = i % 2 == 1 && texts.hide(piece);
        if i % 2 == 1 && is_reference(piece) {
            // It has no secret, and is what a reader looks for.
            shown.push_str(&redact::redacted(&kept, TextKind::Prose));
            shown.push_str(piece);
            kept.clear();
        } else {
            kept.push_str(if is_secret { MASK } else { piece });
        }
    }
    shown.push_str(&redact::redacted(&kept, TextKind::Prose));
    shown
}

/// Whether it is one reference to a variable, with a scheme before it or without.
fn is_reference(piece: &str) -> bool {
    let reference = piece.strip_prefix("Bearer ").unwrap_or(piece);
    let name = reference
        .strip_prefix("${")
        .and_then(|rest| rest.strip_suffix('}'));
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | ':');
    name.is_some_and(|name| !name.is_empty() && name.chars().all(is_of_name))
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

    #[test]
    fn a_reference_is_shown_whole() {
        for line in [
            "\"Authorization\": \"Bearer ${env:MCPPROXY_TOKEN}\",",
            "\"TOKEN\": \"${GITHUB_TOKEN}\"",
        ] {
            assert_eq!(lines("", line), [format!("+{line}")]);
        }
        let with_default = "\"TOKEN\": \"${A:-s3cr3t-value}\"";
        assert!(!lines("", with_default).concat().contains("s3cr3t"));
    }

    #[test]
    fn what_a_text_before_it_introduces_is_no_line_to_show() {
        let secret = "s3cr3t-value";
        for before in [
            "{\"a\": {\"args\": [\"--token\", \"s3cr3t-value\"]}}\n",
            "{\n\"args\": [\n\"--token\",\n\"s3cr3t-value\",\n\"x\",\n\"y\"\n],\n\"z\": 1}\n",
            "args:\n  - --token\n  - s3cr3t-value\n",
            "args = ['--token', 's3cr3t-value']\n",
        ] {
            let shown = lines(before, &format!("{before}+\n")).concat();
            assert!(!shown.contains(secret), "{shown}");
            let shown = lines(before, &before.replace("\"z\"", "\"zz\"")).concat();
            assert!(!shown.contains(secret), "{shown}");
            assert!(!lines(before, "").concat().contains(secret), "{before}");
        }
    }
}
