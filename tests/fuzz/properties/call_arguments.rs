//! What a call through `call_tool_*` says: the intent is accepted by the variant that it names and no other, and the arguments reach the
//! upstream as they are written.

use std::collections::HashSet;

use bytes::Bytes;
use mcpproxy::{
    activity::StatedIntent,
    gate::Variant,
    router::{passed_on, stated_intent},
    wire::Raw,
};
use serde_json::{Map, Value};

use super::json::{Member, members};

const VARIANTS: [Variant; 3] = [Variant::Read, Variant::Write, Variant::Destructive];
const SENSITIVITIES: [&str; 4] = ["public", "internal", "private", "unknown"];

/// Limit: characters of a reason.
const LONGEST_REASON: usize = 1_000;

/// Any bytes as the arguments of the built-in tool.
pub fn check(input: &[u8]) {
    let Ok(raw) = Raw::parse(&Bytes::copy_from_slice(input)) else {
        return;
    };
    let found = VARIANTS.map(|variant| stated_intent(&raw, variant));
    let arguments = passed_on(&raw);
    if let Ok(Some(object)) = &arguments {
        assert!(
            object.is_object() && object.why_unreadable().is_none(),
            "{}",
            object.as_str()
        );
    }
    let (Some(written), Ok(value)) = (members(input), raw.read::<Map<String, Value>>()) else {
        return;
    };
    // Calls with a key that stands there twice are refused before.
    let names: HashSet<_> = written.iter().map(Member::name).collect();
    if names.len() != written.len() {
        return;
    }
    for (variant, found) in VARIANTS.iter().zip(&found) {
        let expected = read_slowly(&value, *variant);
        // Within the intent serde takes the last of two, which are refused.
        let none = StatedIntent::default();
        let said = found.as_ref().ok();
        let said = said.map(|said| said.as_ref().unwrap_or(&none));
        let is_twice = found.as_ref().is_err_and(|error| error.ends_with("twice"));
        assert!(is_twice || said == expected.as_ref(), "{found:?} {value:?}");
    }
    if value.get("intent").is_some_and(|intent| !intent.is_null()) {
        assert!(found.iter().flatten().count() <= 1, "{found:?}");
    }
    check_arguments(&written, &value, arguments);
}

/// What is said for this variant; nothing if it is to be refused.
fn read_slowly(arguments: &Map<String, Value>, variant: Variant) -> Option<StatedIntent> {
    let text = |object: &Map<String, Value>, key: &str| match object.get(key) {
        None | Some(Value::Null) => Some(None),
        Some(Value::String(text)) => Some(Some(text.clone())),
        Some(_) => None,
    };
    let none = Map::new();
    let intent = match arguments.get("intent") {
        None | Some(Value::Null) => &none,
        Some(Value::Object(intent)) => {
            if text(intent, "operation_type")??.as_str() != variant.as_str() {
                return None;
            }
            intent
        }
        Some(_) => return None,
    };
    let known = ["operation_type", "data_sensitivity", "reason"];
    if !intent.keys().all(|key| known.contains(&key.as_str())) {
        return None;
    }
    let inside = (text(intent, "data_sensitivity")?, text(intent, "reason")?);
    let beside = (
        text(arguments, "intent_data_sensitivity")?,
        text(arguments, "intent_reason")?,
    );
    let stated = StatedIntent {
        data_sensitivity: inside.0.or(beside.0),
        reason: inside.1.or(beside.1),
    };
    let sensitivity = stated.data_sensitivity.as_deref();
    let is_known = sensitivity.is_none_or(|said| SENSITIVITIES.contains(&said));
    let reason = stated.reason.as_deref().unwrap_or_default();
    if !is_known || reason.chars().count() > LONGEST_REASON {
        return None;
    }
    Some(stated)
}

fn check_arguments(
    written: &[Member<'_>],
    value: &Map<String, Value>,
    found: Result<Option<Raw>, String>,
) {
    let keys = ["args", "arguments", "args_json"];
    let given: Vec<&str> = keys
        .into_iter()
        .filter(|key| value.get(*key).is_some_and(|value| !value.is_null()))
        .collect();
    let any_null = keys
        .iter()
        .any(|key| value.get(*key).is_some_and(Value::is_null));
    match (&given[..], found) {
        ([], found) => assert_eq!(found.is_err(), any_null, "{value:?}"),
        ([key], Ok(Some(found))) => {
            if let Value::String(text) = &value[*key] {
                assert_eq!(found.as_str(), text.trim(), "{value:?}");
            } else {
                let mut named = written.iter();
                let member = named.find(|member| member.name().as_deref() == Some(*key));
                let member = member.expect("it is there");
                assert_eq!(found.as_str(), member.value, "{value:?}");
                assert_ne!(*key, "args_json");
            }
        }
        ([key], Err(_)) => {
            let is_good = value[*key].is_object() && *key != "args_json";
            assert!(!is_good, "{value:?}");
        }
        (_, found) => assert!(found.is_err(), "{value:?}"),
    }
}
