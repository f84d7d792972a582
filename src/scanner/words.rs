//! What a rule means, in words for people. Finds nothing.

/// What is wrong with a text to which this rule objects.
pub fn in_words(rule: &str) -> &'static str {
    match rule {
        "orders.override" => "tells the model to forget its instructions",
        "orders.persona" => "tells the model to be somebody else",
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
        "environment" => "sets a variable that loads code or switches off checks",
        "address" => "has a suspicious address",
        "unread" => "could not be read to its end",
        _ => "looks suspicious",
    }
}

#[cfg(test)]
mod tests {
    use super::in_words;

    #[test]
    fn every_family_on_the_page_has_words() {
        let page = include_str!("../../docs/scanner.md");
        let mut families = 0;
        for row in page.lines().filter(|line| line.starts_with("| `")) {
            let rules = row.split('|').nth(1).unwrap_or_default();
            let names = rules.split('`').skip(1).step_by(2);
            for name in names.filter(|name| !name.starts_with('.')) {
                let rule = name.replace('*', "any");
                assert_ne!(in_words(&rule), "looks suspicious", "{name}");
                families += 1;
            }
        }
        assert!(families > 10, "{families}");
        assert_ne!(in_words("orders.conceal"), in_words("orders.any"));
        assert_eq!(in_words("of.a.later.version"), "looks suspicious");
    }
}
