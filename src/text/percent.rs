//! Percent-encoding for parts of URIs.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// The characters that are not encoded (RFC 3986, 2.3).
pub const UNRESERVED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~');

/// Percent-encodes one segment of a path, or one value of a query.
pub fn encoded(part: &str) -> String {
    utf8_percent_encode(part, UNRESERVED).to_string()
}

#[cfg(test)]
mod tests {
    use super::encoded;

    #[test]
    fn path_parts_are_percent_encoded() {
        assert_eq!(encoded("my-server_1.2~"), "my-server_1.2~");
        assert_eq!(encoded("a:b/c d?é"), "a%3Ab%2Fc%20d%3F%C3%A9");
    }
}
