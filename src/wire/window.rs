//! Finds what is special in strings of JSON, sixteen bytes at a time: a bit for each byte.
//!
//! The only `unsafe` beside the allocator's settings: the compiler asks for it at instructions that not every processor of the kind may have.
//! These are SSE2, which is a part of x86-64.

/// Bytes that are looked at together.
pub(super) const WINDOW: usize = 16;

/// Those that are a quote, a backslash, a control character, or none of ASCII.
pub(super) fn specials(window: &[u8; WINDOW]) -> u32 {
    #[cfg(target_arch = "x86_64")]
    #[expect(unsafe_code, reason = "SSE2 is a part of x86-64")]
    unsafe {
        sse2::specials(window)
    }
    #[cfg(not(target_arch = "x86_64"))]
    portable::specials(window)
}

/// Those that are a quote or a backslash.
pub(super) fn quotes(window: &[u8; WINDOW]) -> u32 {
    #[cfg(target_arch = "x86_64")]
    #[expect(unsafe_code, reason = "SSE2 is a part of x86-64")]
    unsafe {
        sse2::quotes(window)
    }
    #[cfg(not(target_arch = "x86_64"))]
    portable::quotes(window)
}

#[cfg(target_arch = "x86_64")]
mod sse2 {
    use std::arch::x86_64::{
        __m128i, _mm_cmpeq_epi8, _mm_cmplt_epi8, _mm_movemask_epi8, _mm_or_si128, _mm_set_epi64x,
        _mm_set1_epi8,
    };

    use super::WINDOW;

    #[target_feature(enable = "sse2")]
    pub(super) fn specials(window: &[u8; WINDOW]) -> u32 {
        let bytes = lanes(window);
        // Signed: what is above ASCII is below 0.
        let others = _mm_cmplt_epi8(bytes, _mm_set1_epi8(0x20));
        _mm_movemask_epi8(_mm_or_si128(quoting(bytes), others)).cast_unsigned()
    }

    #[target_feature(enable = "sse2")]
    pub(super) fn quotes(window: &[u8; WINDOW]) -> u32 {
        _mm_movemask_epi8(quoting(lanes(window))).cast_unsigned()
    }

    #[target_feature(enable = "sse2")]
    fn lanes(window: &[u8; WINDOW]) -> __m128i {
        let all = u128::from_le_bytes(*window);
        let half = |half: u128| u64::try_from(half).unwrap_or_default().cast_signed();
        _mm_set_epi64x(half(all >> 64), half(all & u128::from(u64::MAX)))
    }

    #[target_feature(enable = "sse2")]
    fn quoting(bytes: __m128i) -> __m128i {
        let quotes = _mm_cmpeq_epi8(bytes, _mm_set1_epi8(b'"'.cast_signed()));
        let backslashes = _mm_cmpeq_epi8(bytes, _mm_set1_epi8(b'\\'.cast_signed()));
        _mm_or_si128(quotes, backslashes)
    }
}

/// The same by arithmetic on words, for other processors.
#[cfg(any(test, not(target_arch = "x86_64")))]
mod portable {
    use super::WINDOW;

    const EACH: u64 = u64::from_le_bytes([1; 8]);
    const HIGH: u64 = u64::from_le_bytes([0x80; 8]);

    pub(super) fn specials(window: &[u8; WINDOW]) -> u32 {
        bits(window, |word| {
            quoting(word) | zeros(word & (EACH * 0xe0)) | word
        })
    }

    pub(super) fn quotes(window: &[u8; WINDOW]) -> u32 {
        bits(window, quoting)
    }

    fn quoting(word: u64) -> u64 {
        let of = |byte: u8| zeros(word ^ (EACH * u64::from(byte)));
        of(b'"') | of(b'\\')
    }

    /// Sets the highest bit of each byte that is 0.
    fn zeros(word: u64) -> u64 {
        !(((word & !HIGH) + !HIGH) | word)
    }

    /// The highest bits of all bytes, side by side.
    fn bits(window: &[u8; WINDOW], meant: impl Fn(u64) -> u64) -> u32 {
        /// Moves the bit of each byte to its place in the highest byte.
        const GATHER: u64 = 0x0102_0408_1020_4080;
        let (words, _) = window.as_chunks::<8>();
        let of = |word: &[u8; 8]| {
            let high = (meant(u64::from_le_bytes(*word)) & HIGH) >> 7;
            u32::from(high.wrapping_mul(GATHER).to_le_bytes()[7])
        };
        words
            .iter()
            .rev()
            .fold(0, |bits, word| bits << 8 | of(word))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn expected(window: &[u8; WINDOW], is_meant: impl Fn(u8) -> bool) -> u32 {
        let bytes = window.iter().enumerate();
        bytes.fold(0, |bits, (n, byte)| bits | u32::from(is_meant(*byte)) << n)
    }

    proptest! {
        #[test]
        fn every_byte_that_is_special_is_found(window in any::<[u8; WINDOW]>(), other in any::<u8>(), at in 0..WINDOW) {
            let mut near = [other; WINDOW];
            near[at] = window[at];
            for window in [window, near] {
                let is_quote = |byte: u8| byte == b'"' || byte == b'\\';
                let quotes_there = expected(&window, is_quote);
                let specials_there = expected(&window, |byte| is_quote(byte) || !(0x20..0x80).contains(&byte));
                prop_assert_eq!(quotes(&window), quotes_there);
                prop_assert_eq!(specials(&window), specials_there);
                prop_assert_eq!(portable::quotes(&window), quotes_there);
                prop_assert_eq!(portable::specials(&window), specials_there);
            }
        }
    }
}
