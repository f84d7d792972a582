//! What a rule means, in words for people. Finds nothing.

/// What is wrong with a text to which this rule objects.
pub fn in_words(rule: &str) -> &'static str {
    match rule {
        "orders.override" => "tells the model to forget its instructions",
        "orders.persona" => "gives the model another role",
        "orders.frame" => "fakes conversation markup",
        "orders.conceal" => "tells the model to hide something from the user",
        "orders.consent" => "agrees on your behalf",
        "orders.phishing" => "has the model ask you for a password",
        "orders.conversation" => "asks for the conversation or the system prompt",
        "orders.likely" => "reads like poisoned descriptions",
        "command.temporary_folder" => "starts a program from a temporary folder",
        _ => of_family(rule.split_once('.').map_or(rule, |(family, _)| family)),
    }
}

fn of_family(family: &str) -> &'static str {
    match family {
        "hidden" => "has invisible text",
        "terminal" => "has terminal control characters",
        "encoded" => "has disguised or encoded words",
        "orders" => "gives the model orders",
        "exfiltration" => "asks for secrets or personal data",
        "shadowing" => "gives orders about other tools",
        "preference" => "claims priority over other tools",
        "lookalike" => "has a name that looks like another tool's or server's",
        "parameters" => "asks for more than its task needs",
        "values" => "has suspicious preset values",
        "command" => "has a dangerous command",
        "environment" => "sets a variable that loads code or disables checks",
        "address" => "has a suspicious address",
        "annotations" => "does more than it declares",
        "unread" => "could not be read completely",
        _ => "looks suspicious",
    }
}

/// Why that matters, in a sentence for the person who decides about it.
pub fn why(rule: &str) -> &'static str {
    match rule {
        "orders.override" => "A description must not override the model's instructions.",
        "orders.persona" => "The model would keep that role with other tools, too.",
        "orders.frame" => "Models may obey it as if you had said it.",
        "orders.conceal" => "A tool has no reason to hide its work from you.",
        "orders.consent" => "Only you can agree to something.",
        "orders.phishing" => "A password you type for the model reaches the server.",
        "orders.likely" => "Its words are common in hidden orders and rare elsewhere.",
        "command.temporary_folder" => "Other programs and users can often replace what is there.",
        "orders.conversation" => "This tool does not need your conversation.",
        _ => why_family(rule.split_once('.').map_or(rule, |(family, _)| family)),
    }
}

fn why_family(family: &str) -> &'static str {
    match family {
        "hidden" => "You cannot see these characters; the model reads them.",
        "terminal" => "A terminal would show you something else than the model reads.",
        "encoded" => "A description needs no disguised words; models understand them.",
        "orders" => "It tells the model what to do, not what the tool does.",
        "exfiltration" => "A call as described would send your data to the server's owner.",
        "shadowing" => "A tool should not control the use of other servers' tools.",
        "preference" => "A tool should not steer the model away from others that you trust.",
        "lookalike" => "You or a model may call it by mistake.",
        "parameters" => "The model fills it in with what it knows of you and your files.",
        "values" => "A preset value is sent although no one chose it.",
        "command" => "It can change or send your files without asking.",
        "environment" => "Code that the variable loads runs inside the program, unseen.",
        "address" => "The address does not lead where it seems to.",
        "annotations" => "Clients call read-only tools without asking you; this one does more.",
        "unread" => "The unread part may say anything.",
        _ => "Read that part of the definition: does the tool need it?",
    }
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
