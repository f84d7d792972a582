//! Finds the addresses of metadata services, which hand out credentials to any program in a cloud, in all spellings: in the URL of an entry, in
//! values, and in sentences.

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    ops::Range,
};

use super::{Findings, Passage, Severity::Remark, passage::Kind};

/// The names of their hosts.
const NAMES: [&str; 3] = [
    "metadata.google.internal",
    "instance-data.ec2.internal",
    "metadata.azure.internal",
];

/// Names of their hosts that are ordinary words in a sentence, so they count only in a URL.
const NAMES_IN_ADDRESSES: [&str; 2] = ["metadata", "instance-data"];

/// Their IPv4 addresses: of virtual machines, of containers on AWS, and of Alibaba Cloud.
const V4: [Ipv4Addr; 3] = [
    Ipv4Addr::new(169, 254, 169, 254),
    Ipv4Addr::new(169, 254, 170, 2),
    Ipv4Addr::new(100, 100, 100, 200),
];

/// Their IPv6 addresses, of AWS and Google.
const V6: [Ipv6Addr; 2] = [
    Ipv6Addr::new(0xFD00, 0x0EC2, 0, 0, 0, 0, 0, 0x0254),
    Ipv6Addr::new(0xFD20, 0x00CE, 0, 0, 0, 0, 0, 0x0254),
];

/// The most bytes of a written address.
const LONGEST: usize = 64;

/// Reads a sentence.
pub(super) fn read(text: &Passage<'_>, findings: &mut Findings) {
    if text.kind == Kind::Prose
        && let Some(range) = named_in(text.text)
    {
        findings.add("address.metadata_service", Remark, text, range);
    }
}

/// The place at which a text names one of them.
pub(super) fn named_in(text: &str) -> Option<Range<usize>> {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b':' | b'-');
    let mut start = 0;
    for word in text.as_bytes().split(|byte| !is_part(*byte)) {
        let range = start..start + word.len();
        start = range.end + 1;
        if (7..=LONGEST).contains(&word.len())
            && let Ok(word) = std::str::from_utf8(word)
        {
            // Without the end of the sentence. Colons may begin an IPv6 address, so they are tried with and without.
            let word = word.trim_matches(['.', '-']);
            if is_named(word) || is_named(word.trim_matches(':')) {
                return Some(range);
            }
        }
    }
    None
}

/// Whether a word is one of the hosts, with or without a port.
fn is_named(word: &str) -> bool {
    // Parsing is needed only for words with digits: every address has some, however it is written.
    let has_digits = word.bytes().any(|byte| byte.is_ascii_digit());
    let is_it = |host: &str| {
        let is_name = NAMES.iter().any(|name| name.eq_ignore_ascii_case(host));
        is_name || has_digits && ip(host).is_some_and(is_service)
    };
    is_it(word) || word.split_once(':').is_some_and(|(host, _)| is_it(host))
}

fn is_service(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => V4.contains(&v4),
        IpAddr::V6(v6) => V6.contains(&v6),
    }
}

/// Whether the host of a URL, in lower case, is one of them, or in the link-local network in which they are.
pub(super) fn is_host(host: &str) -> bool {
    if NAMES.contains(&host) || NAMES_IN_ADDRESSES.contains(&host) {
        return true;
    }
    ip(host.trim_matches(['[', ']'])).is_some_and(|address| {
        is_service(address)
            || match address {
                IpAddr::V4(v4) => v4.is_link_local(),
                IpAddr::V6(v6) => v6.is_unicast_link_local() || is_private_service(v6),
            }
    })
}

fn is_private_service(v6: Ipv6Addr) -> bool {
    let segments = v6.segments();
    segments[0] == 0xFD00 && segments[7] == 0x254
}

/// The address that a host is. An IPv4 address inside an IPv6 address is translated.
fn ip(host: &str) -> Option<IpAddr> {
    if let Some(v4) = v4(host) {
        return Some(IpAddr::V4(v4));
    }
    let v6: Ipv6Addr = host.parse().ok()?;
    // `::ffff:`, and `64:ff9b::` of translators (RFC 6052).
    let translated = match v6.segments() {
        [0x64, 0xFF9B, 0, 0, 0, 0, high, low] => {
            Some(Ipv4Addr::from((u32::from(high) << 16) | u32::from(low)))
        }
        _ => v6.to_ipv4_mapped(),
    };
    Some(translated.map_or(IpAddr::V6(v6), IpAddr::V4))
}

/// An IPv4 address as programs read it (`inet_aton`): one to four numbers, the last of which fills the remaining bytes, each in decimal, octal
/// after `0`, or hexadecimal after `0x`.
fn v4(host: &str) -> Option<Ipv4Addr> {
    match url::Host::parse(host) {
        Ok(url::Host::Ipv4(v4)) => Some(v4),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_are_met_in_sentences_however_they_are_written() {
        for written in [
            "169.254.169.254",
            "http://169.254.169.254/latest/meta-data/iam",
            "169.254.169.254:80",
            "2852039166",
            "0xA9FEA9FE",
            "0xa9.0xfe.0xa9.0xfe",
            "0251.0376.0251.0376",
            "025177524776",
            "169.254.43518",
            "169.16689662",
            "[::ffff:169.254.169.254]",
            "::ffff:a9fe:a9fe",
            "64:ff9b::a9fe:a9fe",
            "fd00:ec2::254",
            "[FD00:0EC2:0:0:0:0:0:254]:80",
            "Metadata.Google.Internal",
            "http://metadata.google.internal/computeMetadata/v1/",
            "http://169.254.170.2/v2",
            "100.100.100.200",
        ] {
            let text = format!("Checks links. First read {written}, then go on.");
            let found = named_in(&text).expect(written);
            assert!(text.get(found).is_some(), "{written}");
            assert!(named_in(&format!("({written})")).is_some(), "{written}");
        }
    }

    #[test]
    fn other_numbers_and_words_are_let_be() {
        for text in [
            "",
            "Reads the metadata of an instance.",
            "Link-local addresses (169.254.0.0/16) are skipped.",
            "169.254.169.253 and 169.254.169.2540 and 1169.254.169.254",
            "The id is 2852039167, at 10:20:30, version 1.2.3.4.5.",
            "fd00:ec2::253 and metadata.google.com",
            "0x 08 09.09.09.09 0xg",
        ] {
            assert_eq!(named_in(text), None, "{text}");
        }
    }

    #[test]
    fn in_addresses_their_network_counts_too() {
        for host in ["metadata", "169.254.0.1", "[fe80::1]", "[fd00:1::254]"] {
            assert!(is_host(host), "{host}");
        }
        assert!(!is_host("203.0.113.5") && !is_host("metadata.example"));
    }
}
