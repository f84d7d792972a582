//! What a word of YAML without quotes means: a number, a switch, nothing, or itself.

use serde_json::{Number, Value};

/// The value of a word without quotes, by the core schema.
pub(super) fn plain(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Value::Null,
        "true" | "True" | "TRUE" => return Value::Bool(true),
        "false" | "False" | "FALSE" => return Value::Bool(false),
        _ => (),
    }
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    if digits.is_empty() || !digits.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        return Value::from(text);
    }
    if digits.bytes().all(|byte| byte.is_ascii_digit()) {
        let number = text.strip_prefix('+').unwrap_or(text).parse::<i64>();
        return number.map_or_else(|_| Value::from(text), Value::from);
    }
    let is_of_number = |c: char| c.is_ascii_digit() || matches!(c, '.' | 'e' | 'E' | '+' | '-');
    let number = digits
        .chars()
        .all(is_of_number)
        .then(|| text.parse::<f64>());
    match number {
        Some(Ok(number)) => {
            Number::from_f64(number).map_or_else(|| Value::from(text), Value::Number)
        }
        _ => Value::from(text),
    }
}

/// The key of a map.
pub(super) fn key(value: Value) -> Result<String, &'static str> {
    match value {
        Value::String(text) => Ok(text),
        Value::Number(number) => Ok(number.to_string()),
        Value::Bool(is) => Ok(is.to_string()),
        Value::Null => Ok("null".to_owned()),
        Value::Array(_) | Value::Object(_) => Err("a key is a list or a map"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::plain;

    #[test]
    fn words_are_what_the_core_schema_says() {
        let check = |text: &str, expected: Value| assert_eq!(plain(text), expected, "{text}");
        check("~", json!(null));
        check("True", json!(true));
        check("yes", json!("yes"));
        check("-12", json!(-12));
        check("1.5", json!(1.5));
        check("1.2.3", json!("1.2.3"));
        check("2026-11-22", json!("2026-11-22"));
        check("-y", json!("-y"));
        check("-", json!("-"));
        check("99999999999999999999", json!("99999999999999999999"));
    }
}
