use super::*;

fn token(name: &str) -> IssuedToken {
    IssuedToken {
        name: name.to_owned(),
        subject: name.to_owned(),
        roles: Vec::new(),
        servers: None,
        profile: None,
        calls: AllowedCalls::Read,
        created: 1,
        expires: None,
        begins: "mcpp_ab".to_owned(),
        hash: TokenHash::of(name),
    }
}

#[test]
fn a_rule_for_the_caller_of_a_token_concerns_somebody() {
    let text = r#"{"serverAuth": {"provider": "bearer", "bearer": {"tokens": {"0123456789abcdef": "ada"}}, "acl": {"default": "allow", "rules": [
            {"subjects": ["ben"], "policy": "deny"}, {"roles": ["support"], "policy": "deny"}, {"subjects": ["carla"], "policy": "deny"}
        ]}}}"#;
    let surroundings = crate::config::Surroundings {
        lookup: &|_| None,
        folder: Path::new("/"),
    };
    let mut settings = crate::config::parse(text, &surroundings).expect("sound");
    assert_eq!(settings.all_warnings().len(), 3);
    let ben = IssuedToken {
        roles: vec!["support".to_owned()],
        ..token("ben")
    };
    settings.issued = IssuedTokens(vec![ben].into());
    let [warning] = &settings.all_warnings()[..] else {
        panic!("{:?}", settings.all_warnings());
    };
    assert!(
        warning.text.contains("rules[2]") && warning.text.contains("carla"),
        "{warning}"
    );
}

#[test]
fn tokens_are_kept_by_their_hashes_until_they_are_removed() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let of = |name: &str| {
        IssuedTokens::read(folder)
            .expect("readable")
            .find(&TokenHash::of(name))
            .cloned()
    };
    assert_eq!(of("ben-secret"), None);
    let ben = IssuedToken {
        hash: TokenHash::of("ben-secret"),
        ..token("ben")
    };
    IssuedTokens::add(folder, ben.clone()).expect("it is new");
    assert_eq!(of("ben-secret"), Some(ben.clone()));
    let text = std::fs::read_to_string(folder.join(FILE)).expect("text");
    assert!(!text.contains("ben-secret"), "{text}");
    let again = IssuedTokens::add(
        folder,
        IssuedToken {
            name: "BEN".to_owned(),
            ..ben
        },
    );
    assert!(matches!(again, Err(TokenError::Exists(_))), "{again:?}");
    IssuedTokens::remove(folder, "ben").expect("it is there");
    assert_eq!(of("ben-secret"), None);
    let gone = IssuedTokens::remove(folder, "ben");
    assert!(matches!(gone, Err(TokenError::Unknown(_))), "{gone:?}");
}

#[test]
fn a_file_with_anything_else_in_it_has_no_tokens() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    IssuedTokens::add(folder, token("ben")).expect("it is new");
    let file = folder.join(FILE);
    let good = std::fs::read_to_string(&file).expect("text");
    for bad in [
        good.replace("\"read\"", "\"everything\""),
        good.replace(
            "\"calls\"",
            "\"servers\": [\"a\"], \"profile\": \"p\", \"calls\"",
        ),
        good.replace("\"calls\"", "\"call\": \"read\", \"calls\""),
        good.replace("\"version\": 1", "\"version\": 2"),
        good.replace("\"subject\": \"ben\"", "\"subject\": \"operator\""),
        good.replace('}', ""),
        String::new(),
    ] {
        assert_ne!(bad, good);
        std::fs::write(&file, &bad).expect("ours");
        IssuedTokens::read(folder).expect_err(&bad);
        IssuedTokens::add(folder, token("eve")).expect_err(&bad);
        let kept = std::fs::read_to_string(&file).expect("text");
        assert_eq!(kept, bad, "nothing is written over what cannot be read");
    }
}
