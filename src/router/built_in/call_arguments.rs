//! Reads the purpose of a call in the arguments of `call_tool_*`. Pure.

use super::arguments::{check_keys, string};
use crate::{activity::StatedIntent, gate::Variant, wire::Raw};

/// The levels of sensitivity.
pub(super) const SENSITIVITIES: [&str; 4] = ["public", "internal", "private", "unknown"];

/// Limit: characters of a reason. It is kept in the audit trail.
pub(super) const REASON_MAX: usize = 1000;

/// The purpose of a call, which its arguments may state in either of two forms.
pub fn stated_intent(arguments: &Raw, variant: Variant) -> Result<Option<StatedIntent>, String> {
    let intent = arguments.get("intent").filter(|intent| !intent.is_null());
    if let Some(intent) = &intent {
        check_intent(intent, variant)?;
    }
    let stated = StatedIntent {
        data_sensitivity: single_value(arguments, intent.as_ref(), "data_sensitivity")?,
        reason: single_value(arguments, intent.as_ref(), "reason")?,
    };
    let sensitivity = stated.data_sensitivity.as_deref();
    if let Some(stated) = sensitivity.filter(|stated| !SENSITIVITIES.contains(stated)) {
        return Err(format!(
            "intent.data_sensitivity must be one of {}, not {stated:?}",
            SENSITIVITIES.join(", ")
        ));
    }
    let reason = stated.reason.as_deref();
    if reason.is_some_and(|reason| reason.chars().count() > REASON_MAX) {
        return Err(format!(
            "intent.reason is longer than {REASON_MAX} characters"
        ));
    }
    Ok((stated != StatedIntent::default()).then_some(stated))
}

/// Checks that an intent has only known members and matches the variant.
fn check_intent(intent: &Raw, variant: Variant) -> Result<(), String> {
    if !intent.is_object() {
        return Err("\"intent\" is not an object".to_owned());
    }
    let known = ["operation_type", "data_sensitivity", "reason"];
    check_keys(intent, "in \"intent\"", &known, &[])?;
    match string(intent, "operation_type")?.as_deref() {
        None => Err("intent.operation_type is missing".to_owned()),
        Some(stated) if stated == variant.as_str() => Ok(()),
        Some(stated) => Err(format!(
            "intent.operation_type is {stated:?}, but it must be {:?} here",
            variant.as_str()
        )),
    }
}

/// The value that one form or both state. Different values are an error: only one of them can be meant.
fn single_value(
    arguments: &Raw,
    intent: Option<&Raw>,
    key: &str,
) -> Result<Option<String>, String> {
    let inside = intent.map_or(Ok(None), |intent| string(intent, key))?;
    match (inside, string(arguments, &format!("intent_{key}"))?) {
        (Some(inside), Some(flat)) if inside != flat => Err(format!(
            "intent.{key} and intent_{key} say different things; give one"
        )),
        (inside, flat) => Ok(inside.or(flat)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_intent_that_contradicts_itself_is_refused_by_name() {
        let read = |text: &str| {
            let arguments = Raw::parse_str(text).expect("JSON");
            stated_intent(&arguments, Variant::Read).map(|stated| stated.is_some())
        };
        let intent =
            r#""intent":{"operation_type":"read","data_sensitivity":"private","reason":"a"}"#;
        assert_eq!(read(&format!("{{{intent}}}")), Ok(true));
        let same =
            format!(r#"{{{intent},"intent_data_sensitivity":"private","intent_reason":"a"}}"#);
        assert_eq!(read(&same), Ok(true));
        for (key, other) in [("data_sensitivity", "public"), ("reason", "b")] {
            let error = read(&format!(r#"{{{intent},"intent_{key}":"{other}"}}"#));
            let error = error.expect_err("they contradict each other");
            assert!(
                error.contains(&format!("intent.{key} and intent_{key}")),
                "{error}"
            );
        }
    }
}
