//! What a rule means, in words for people. Finds nothing.

/// What is wrong with a text to which this rule objects.
pub fn in_words(rule: &str) -> &'static str {
    match rule {
        "orders.override" => "tells the model to forget its instructions",
        "orders.persona" => "gives the model another role",
        "orders.frame" => "imitates the marks of a conversation",
        "orders.conceal" => "tells the model to hide something from you",
        "orders.consent" => "gives consent in your place",
        "orders.phishing" => "has the model ask you for a password",
        "orders.conversation" => "asks for the conversation or the system prompt",
        _ => of_family(rule.split_once('.').map_or(rule, |(family, _)| family)),
    }
}

fn of_family(family: &str) -> &'static str {
    match family {
        "hidden" => "has text that cannot be seen",
        "terminal" => "has characters that steer a terminal",
        "encoded" => "has disguised or encoded words",
        "orders" => "gives the model orders",
        "exfiltration" => "wants secrets or personal data handed over",
        "shadowing" => "gives orders about other tools",
        "preference" => "wants to be preferred to other tools",
        "lookalike" => "has a name that looks like another tool's or server's",
        "parameters" => "asks for what its task does not need",
        "values" => "has suspicious preset values",
        "command" => "has a dangerous command",
        "environment" => "sets a variable that loads code or disables checks",
        "address" => "has a suspicious address",
        "annotations" => "declares itself milder than its words say",
        "unread" => "could not be read to its end",
        _ => "looks suspicious",
    }
}

/// Why that matters, in a sentence for the person who decides about it.
pub fn why(rule: &str) -> &'static str {
    match rule {
        "orders.override" => {
            "A description tells what a tool does. One that sets aside what the model was told before wants to steer it."
        }
        "orders.persona" => "The model would keep that role, also with other tools.",
        "orders.frame" => {
            "Marks like these make a text look as if the user or the program had said it, which a model obeys sooner."
        }
        "orders.conceal" => "What a tool does for you it need not hide from you.",
        "orders.consent" => "Only you can agree to something; a description cannot.",
        "orders.phishing" => "A password that you type for the model reaches the server.",
        "orders.conversation" => {
            "What you and the model said to each other is not this tool's business."
        }
        _ => why_family(rule.split_once('.').map_or(rule, |(family, _)| family)),
    }
}

fn why_family(family: &str) -> &'static str {
    match family {
        "hidden" => "You do not see these characters, and the model reads them.",
        "terminal" => {
            "On a terminal they change what you see, so that you read something else than what is there."
        }
        "encoded" => {
            "Whoever describes a tool has no reason to disguise words; a model reads them all the same."
        }
        "orders" => {
            "The text addresses the model, not the reader: it says what to do instead of what the tool does."
        }
        "exfiltration" => {
            "Calling it as asked would hand something of yours to whoever runs the server."
        }
        "shadowing" => "A tool should say nothing of how another server's tools are to be used.",
        "preference" => "A tool should not steer the model away from others that you trust.",
        "lookalike" => "A model, or you, may take it for the other one and call this instead.",
        "parameters" => {
            "The model fills in what it is asked for, with what it knows of you and of your files."
        }
        "values" => "A preset value is sent without anybody having chosen it.",
        "command" => "What is started like this runs with your user's rights.",
        "environment" => "Whatever such a variable loads runs inside of the program, unseen.",
        "address" => "It leads to another place than it seems to.",
        "annotations" => {
            "Clients let tools that only read be called without asking you. This one says of itself that it does more."
        }
        "unread" => "What was not read may say anything.",
        _ => "Read the place in the definition, and ask whether the tool needs to say that.",
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
