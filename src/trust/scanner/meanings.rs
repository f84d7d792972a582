//! What a finding means, in words for people.

/// By rule, or by family for all other rules of it: what is wrong with the text, and why that matters.
#[rustfmt::skip]
const MEANINGS: &[(&str, [&str; 2])] = &[
    ("orders.override", ["tells the model to forget its instructions", "A description must not override the model's instructions."]),
    ("orders.persona", ["gives the model another role", "The model would keep that role with other tools, too."]),
    ("orders.frame", ["fakes conversation markup", "Models may obey it as if you had said it."]),
    ("orders.conceal", ["tells the model to hide something from the user", "A tool has no reason to hide its work from you."]),
    ("orders.consent", ["agrees on your behalf", "Only you can agree to something."]),
    ("orders.phishing", ["has the model ask you for a password", "A password you type for the model reaches the server."]),
    ("orders.conversation", ["asks for the conversation or the system prompt", "This tool does not need your conversation."]),
    ("orders.likely", ["reads like poisoned descriptions", "Its words are common in hidden orders and rare elsewhere."]),
    ("command.temporary_folder", ["starts a program from a temporary folder", "Other programs and users can often replace what is there."]),
    ("hidden", ["has invisible text", "You cannot see these characters; the model reads them."]),
    ("terminal", ["has terminal control characters", "A terminal would show you something else than the model reads."]),
    ("encoded", ["has disguised or encoded words", "A description needs no disguised words; models understand them."]),
    ("orders", ["gives the model orders", "It tells the model what to do, not what the tool does."]),
    ("exfiltration", ["asks for secrets or personal data", "A call as described would send your data to the server's owner."]),
    ("shadowing", ["gives orders about other tools", "A tool should not control the use of other servers' tools."]),
    ("preference", ["claims priority over other tools", "A tool should not steer the model away from others that you trust."]),
    ("lookalike", ["has a name that looks like another tool's or server's", "You or a model may call it by mistake."]),
    ("parameters", ["asks for more than its task needs", "The model fills it in with what it knows of you and your files."]),
    ("values", ["has suspicious preset values", "A preset value is sent although no one chose it."]),
    ("command", ["has a dangerous command", "It can change or send your files without asking."]),
    ("environment", ["sets a variable that loads code or disables checks", "Code that the variable loads runs inside the program, unseen."]),
    ("address", ["has a suspicious address", "The address does not lead where it seems to."]),
    ("annotations", ["does more than it declares", "Clients call read-only tools without asking you; this one does more."]),
    ("unread", ["could not be read completely", "The unread part may say anything."]),
];

/// For rules of a later version.
const UNKNOWN: [&str; 2] = [
    "looks suspicious",
    "Read that part of the definition: does the tool need it?",
];

fn meaning(rule: &str) -> [&'static str; 2] {
    let family = rule.split_once('.').map_or(rule, |(family, _)| family);
    let of = |name: &str| MEANINGS.iter().find(|(known, _)| *known == name);
    of(rule)
        .or_else(|| of(family))
        .map_or(UNKNOWN, |(_, words)| *words)
}

/// What is wrong with a text to which this rule objects.
pub fn in_words(rule: &str) -> &'static str {
    let [what_is_wrong, _] = meaning(rule);
    what_is_wrong
}

/// Why that matters, in a sentence for the person who decides about it.
pub fn why(rule: &str) -> &'static str {
    let [_, why] = meaning(rule);
    why
}

#[cfg(test)]
mod tests {
    use super::{in_words, why};

    #[test]
    fn every_family_on_the_page_has_words() {
        let page = include_str!("../../../docs/scanner.md");
        let mut families = 0;
        for row in page.lines().filter(|line| line.starts_with("| `")) {
            let rules = row.split('|').nth(1).unwrap_or_default();
            let names = rules.split('`').skip(1).step_by(2);
            for name in names.filter(|name| !name.starts_with('.')) {
                let rule = name.replace('*', "any");
                assert_ne!(in_words(&rule), "looks suspicious", "{name}");
                assert_ne!(why(&rule), why("of.a.later.version"), "{name}");
                families += 1;
            }
        }
        assert!(families > 10, "{families}");
        assert_ne!(in_words("orders.conceal"), in_words("orders.any"));
        assert_eq!(in_words("of.a.later.version"), "looks suspicious");
    }
}
