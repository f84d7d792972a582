//! The span that a request belongs to, as it stands in `_meta` and in headers (W3C Trace Context; MCP, SEP-414).

use std::fmt;

use super::{Raw, meta};

/// Limit: characters of a `tracestate` that are read. The specification has as many kept at least.
const LONGEST_STATE: usize = 512;

/// A span: which trace it is part of, which one it is, and whether it is recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceParent {
    /// Of the whole trace; never all zeros.
    pub trace_id: [u8; 16],
    /// Of the span; never all zeros.
    pub span_id: [u8; 8],
    /// What is known of the trace, without the bits that mean nothing yet.
    pub flags: u8,
}

/// The trace that a request belongs to, as the request names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestTrace {
    /// The sender's span.
    pub parent: TraceParent,
    /// What others know of the trace, as it came.
    pub state: Option<Box<str>>,
}

impl TraceParent {
    /// That the trace is recorded.
    pub const SAMPLED: u8 = 0b01;

    /// That its id was made at random.
    const RANDOM: u8 = 0b10;

    /// Reads a `traceparent`. Of versions to come what they have in common with ours is read; nothing of what is not well-formed.
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.splitn(5, '-');
        let [version] = of_digits(parts.next()?)?;
        let (trace_id, span_id) = (of_digits(parts.next()?)?, of_digits(parts.next()?)?);
        let [flags] = of_digits(parts.next()?)?;
        let is_known = match (version, parts.next()) {
            (0xff, _) | (0, Some(_)) => false,
            (_, rest) => rest.is_none_or(|rest| !rest.is_empty()),
        };
        let is_valid = is_known && trace_id != [0; 16] && span_id != [0; 8];
        is_valid.then_some(Self {
            trace_id,
            span_id,
            flags: flags & (Self::SAMPLED | Self::RANDOM),
        })
    }

    /// Whether the trace is recorded.
    pub fn is_sampled(&self) -> bool {
        self.flags & Self::SAMPLED != 0
    }
}

impl fmt::Display for TraceParent {
    /// As it is sent, of version 00.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("00-")?;
        self.trace_id
            .iter()
            .try_for_each(|b| write!(f, "{b:02x}"))?;
        f.write_str("-")?;
        self.span_id.iter().try_for_each(|b| write!(f, "{b:02x}"))?;
        write!(f, "-{:02x}", self.flags)
    }
}

impl RequestTrace {
    /// What the params of a request say. Nothing where they say it twice: who reads the other would see another trace.
    pub fn in_params(params: Option<&Raw>) -> Option<Self> {
        let [of] = params?.look_up([meta::META]);
        let [parent, state] = of.value?.look_up([meta::TRACEPARENT, meta::TRACESTATE]);
        if of.times > 1 || parent.times > 1 {
            return None;
        }
        let parent = parent.value?.string()?;
        let state = state.value.and_then(|state| state.string());
        Self::of(&parent, state.as_deref())
    }

    /// What two headers say.
    pub fn of(parent: &str, state: Option<&str>) -> Option<Self> {
        let parent = TraceParent::parse(parent)?;
        let state = state.filter(|state| !state.is_empty() && state.len() <= LONGEST_STATE);
        let state = state.map(Box::from);
        Some(Self { parent, state })
    }
}

/// As many bytes as lower case digits say.
fn of_digits<const N: usize>(digits: &str) -> Option<[u8; N]> {
    let digits = digits.as_bytes();
    if digits.len() != 2 * N {
        return None;
    }
    let mut bytes = [0; N];
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = (digit(pair[0])? << 4) | digit(pair[1])?;
    }
    Some(bytes)
}

fn digit(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const GOOD: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    #[test]
    fn a_traceparent_is_written_as_it_was_read() {
        let read = TraceParent::parse(GOOD).expect("it is well-formed");
        assert_eq!(read.to_string(), GOOD);
        assert!(read.is_sampled());
        assert_eq!((read.trace_id[0], read.span_id[7]), (0x4b, 0xb7));
    }

    #[test]
    fn flags_that_mean_nothing_yet_are_left_out() {
        let check = |flags: &str, expected: &str, is_sampled| {
            let text = GOOD.replace("-01", &format!("-{flags}"));
            let read = TraceParent::parse(&text).expect("it is well-formed");
            assert!(read.to_string().ends_with(expected), "{read}");
            assert_eq!(read.is_sampled(), is_sampled, "{flags}");
        };
        check("00", "-00", false);
        check("02", "-02", false);
        check("ff", "-03", true);
        check("fe", "-02", false);
    }

    #[test]
    fn later_versions_are_read_as_far_as_they_are_known() {
        for text in [
            GOOD.replace("00-4b", "01-4b"),
            format!("{}-what-comes", GOOD.replace("00-4b", "cc-4b")),
        ] {
            let read = TraceParent::parse(&text).expect(&text);
            assert_eq!(read.to_string(), GOOD);
        }
    }

    #[test]
    fn what_is_not_well_formed_is_none() {
        for text in [
            "",
            "00",
            "00-1",
            &GOOD.to_uppercase(),
            &GOOD.replace("00-4b", "ff-4b"),
            &GOOD.replace("00-4b", "0-4b"),
            &format!("{GOOD}-"),
            &format!("{GOOD}-00"),
            &format!("{}-", GOOD.replace("00-4b", "01-4b")),
            &format!("{GOOD}0"),
            &format!(" {GOOD}"),
            &GOOD.replace("4bf92f3577b34da6a3ce929d0e0e4736", &"0".repeat(32)),
            &GOOD.replace("00f067aa0ba902b7", &"0".repeat(16)),
            &GOOD.replace("4bf9", "4bg9"),
            &GOOD.replace("4bf9", "ö1"),
            &GOOD.replace('-', "_"),
        ] {
            assert_eq!(TraceParent::parse(text), None, "{text}");
        }
    }

    #[test]
    fn params_say_it_once() {
        let said = |text: &str| {
            let params = Raw::parse_str(text).expect("JSON");
            let said = RequestTrace::in_params(Some(&params))?;
            Some((said.parent.to_string(), said.state))
        };
        let once = format!(r#"{{"_meta":{{"traceparent":"{GOOD}","tracestate":"a=1"}}}}"#);
        assert_eq!(said(&once), Some((GOOD.to_owned(), Some("a=1".into()))));
        let escaped = once.replace("00-4b", r"\u0030\u0030-4b");
        assert_eq!(said(&escaped), said(&once));
        let long = once.replace("a=1", &"x".repeat(LONGEST_STATE + 1));
        assert_eq!(said(&long), Some((GOOD.to_owned(), None)));
        for nothing in [
            "{}".to_owned(),
            "[]".to_owned(),
            r#"{"_meta":{"traceparent":7}}"#.to_owned(),
            r#"{"_meta":[]}"#.to_owned(),
            format!(r#"{{"_meta":{{"traceparent":"{GOOD}","traceparent":"{GOOD}"}}}}"#),
            format!(r#"{{"_meta":{{"traceparent":"{GOOD}"}},"_meta":{{}}}}"#),
        ] {
            assert_eq!(said(&nothing), None, "{nothing}");
        }
        assert_eq!(RequestTrace::in_params(None), None);
    }

    proptest! {
        #[test]
        fn whatever_is_read_is_what_is_written(text in "\\PC{0,60}|[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}(-x)?") {
            if let Some(read) = TraceParent::parse(&text) {
                prop_assert_eq!(TraceParent::parse(&read.to_string()), Some(read));
            }
        }
    }
}
