use super::parameters;

#[test]
fn parameters_inside_of_others_are_shown_too() {
    let definition = r#"{"inputSchema":{"required":["a"],"properties":{
            "a":{"type":["string","null"],"description":"First."},
            "b":{"type":"object","properties":{"c":{"description":"Deep."}}},
            "d":{"type":"array","items":{"properties":{"e":true}}}}}}"#;
    let found = parameters(definition);
    let shown: Vec<String> = found
        .iter()
        .map(|one| {
            format!(
                "{} {} {} {}",
                one.name, one.kind, one.required, one.description
            )
        })
        .collect();
    assert_eq!(
        shown,
        [
            "a string or null true First.",
            "b object false ",
            "b.c  false Deep.",
            "d array false ",
            "d[].e  false "
        ]
    );
    for broken in [
        "",
        "[]",
        r#"{"inputSchema":1}"#,
        r#"{"inputSchema":{"properties":[]}}"#,
    ] {
        assert_eq!(parameters(broken), []);
    }
}
