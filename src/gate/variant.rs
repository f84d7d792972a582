//! A call declared as reading, writing or destroying, held against what the server says of the tool.

use crate::{
    catalog::Tool,
    error_code::{ErrorCode, Failure},
};

/// How a caller declares a call. A client can approve each separately.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Variant {
    /// It changes nothing.
    Read,
    /// It changes something.
    Write,
    /// It may destroy something.
    Destructive,
}

impl Variant {
    /// Reads the spelling that requests use.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "read" => Some(Self::Read),
            "write" => Some(Self::Write),
            "destructive" => Some(Self::Destructive),
            _ => None,
        }
    }

    /// The spelling.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Destructive => "destructive",
        }
    }
}

/// Whether a tool may be called as declared. What its server calls destructive needs that declaration; what its server says is not
/// read-only is no reading. Destructive is always allowed, and so is what the server says nothing about.
pub fn declared(variant: Variant, server: &str, tool: &Tool) -> Result<(), Failure> {
    let needed = match (variant, tool.hints.destructive, tool.hints.read_only) {
        (Variant::Read | Variant::Write, Some(true), read_only) if read_only != Some(true) => {
            Variant::Destructive
        }
        (Variant::Read, _, Some(false)) => Variant::Write,
        (Variant::Read | Variant::Write | Variant::Destructive, _, _) => return Ok(()),
    };
    let name = &*tool.name;
    let error = format!(
        "the tool {name:?} of server {server:?} was called as {} but its server declares it {}",
        variant.as_str(),
        if needed == Variant::Destructive {
            "destructive"
        } else {
            "not read-only"
        },
    );
    let hint = format!("Call it as {} if that is meant.", needed.as_str());
    Err(Failure::new(ErrorCode::WrongVariant, error, hint)
        .of_server(server)
        .of_tool(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        catalog::{Listing, ServerCatalog},
        names::ServerName,
        wire::{Raw, Revision},
    };

    #[track_caller]
    fn check(annotations: &str, allowed: [bool; 3]) {
        let tool = format!(r#"{{"name":"t","inputSchema":{{}},"annotations":{annotations}}}"#);
        let listing = Listing {
            initialize: Raw::empty_object(),
            revision: Revision::NEWEST_LEGACY,
            tools: vec![Raw::parse_str(&tool).expect("JSON")],
            prompts: vec![],
            resources: vec![],
            templates: vec![],
        };
        let server = ServerCatalog::ingest(&ServerName::parse("s").expect("a name"), "e", listing);
        let tool = server.tool("t").expect("listed");
        let found = [Variant::Read, Variant::Write, Variant::Destructive]
            .map(|v| declared(v, "s", tool).is_ok());
        assert_eq!(found, allowed, "{annotations}");
    }

    #[test]
    fn a_call_may_be_declared_no_milder_than_its_server_says() {
        check("{}", [true, true, true]);
        check(r#"{"readOnlyHint":true}"#, [true, true, true]);
        check(r#"{"readOnlyHint":false}"#, [false, true, true]);
        check(r#"{"destructiveHint":true}"#, [false, false, true]);
        check(r#"{"destructiveHint":false}"#, [true, true, true]);
        check(
            r#"{"readOnlyHint":false,"destructiveHint":true}"#,
            [false, false, true],
        );
        // The specification gives destructiveHint a meaning only where readOnlyHint is false.
        check(
            r#"{"readOnlyHint":true,"destructiveHint":true}"#,
            [true, true, true],
        );
    }
}
