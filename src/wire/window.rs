//! Finds what is special in strings of JSON, sixteen bytes or four times as many at a time: a bit for each byte.
//!
//! The only `unsafe` beside the allocator's settings: the compiler asks for it at instructions that not every processor of the kind may have.
//! These are SSE2, which is a part of x86-64.

/// Bytes that are looked at together.
pub(super) const WINDOW: usize = 16;

/// What is special in a window: quotes, backslashes, and others, which are control characters and what is none of ASCII.
#[inline]
pub(super) fn of_window(window: &[u8; WINDOW]) -> [u32; 3] {
    #[cfg(target_arch = "x86_64")]
    #[expect(unsafe_code, reason = "SSE2 is a part of x86-64")]
    unsafe {
        sse2::specials(window)
    }
    #[cfg(not(target_arch = "x86_64"))]
    portable::specials(window)
}

/// Bytes of a long string that are looked at together.
pub(super) const BLOCK: usize = 4 * WINDOW;

/// The same in a block.
#[inline]
pub(super) fn of_block(block: &[u8; BLOCK]) -> [u64; 3] {
    let (windows, _) = block.as_chunks();
    let mut all = [0; 3];
    for window in windows.iter().rev() {
        for (all, found) in all.iter_mut().zip(of_window(window)) {
            *all = *all << WINDOW | u64::from(found);
        }
    }
    all
}

/// What stands behind the backslash of an escape, in a block with these backslashes. `is_first` is 1 where its first byte does, and then
/// where the one behind it does.
#[inline]
pub(super) fn escaped(backslashes: u64, is_first: &mut u64) -> u64 {
    const ODD: u64 = 0xaaaa_aaaa_aaaa_aaaa;
    if backslashes == 0 {
        return std::mem::take(is_first);
    }
    // Of several backslashes side by side every other one begins an escape: a difference borrows through all of them.
    let begin = backslashes & !*is_first;
    let marks = (begin << 1 | ODD).wrapping_sub(begin) ^ ODD;
    let escaped = marks ^ (backslashes | *is_first);
    *is_first = (marks & backslashes) >> (BLOCK - 1);
    escaped
}

#[cfg(target_arch = "x86_64")]
mod sse2 {
    use std::arch::x86_64::{
        _mm_cmpeq_epi8, _mm_cmplt_epi8, _mm_movemask_epi8, _mm_set_epi64x, _mm_set1_epi8,
    };

    use super::WINDOW;

    #[inline]
    #[target_feature(enable = "sse2")]
    pub(super) fn specials(window: &[u8; WINDOW]) -> [u32; 3] {
        let all = u128::from_le_bytes(*window);
        let half = |half: u128| u64::try_from(half).unwrap_or_default().cast_signed();
        let bytes = _mm_set_epi64x(half(all >> 64), half(all & u128::from(u64::MAX)));
        let quotes = _mm_cmpeq_epi8(bytes, _mm_set1_epi8(b'"'.cast_signed()));
        let backslashes = _mm_cmpeq_epi8(bytes, _mm_set1_epi8(b'\\'.cast_signed()));
        // Signed: what is above ASCII is below 0.
        let others = _mm_cmplt_epi8(bytes, _mm_set1_epi8(0x20));
        let bits = |found| _mm_movemask_epi8(found).cast_unsigned();
        [bits(quotes), bits(backslashes), bits(others)]
    }
}

/// The same by arithmetic on words, for other processors.
#[cfg(any(test, not(target_arch = "x86_64")))]
mod portable {
    use super::WINDOW;

    const EACH: u64 = u64::from_le_bytes([1; 8]);
    const HIGH: u64 = u64::from_le_bytes([0x80; 8]);

    pub(super) fn specials(window: &[u8; WINDOW]) -> [u32; 3] {
        let equal = |byte: u8| bits(window, |word| zeros(word ^ (EACH * u64::from(byte))));
        let others = bits(window, |word| zeros(word & (EACH * 0xe0)) | word);
        [equal(b'"'), equal(b'\\'), others]
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
        fn every_byte_that_is_special_is_found(window in any::<[u8; WINDOW]>(), other in any::<u8>(), at in 0..WINDOW, n in 0..4_usize) {
            let mut near = [other; WINDOW];
            near[at] = window[at];
            for window in [window, near] {
                let there = [
                    expected(&window, |byte| byte == b'"'),
                    expected(&window, |byte| byte == b'\\'),
                    expected(&window, |byte| !(0x20..0x80).contains(&byte)),
                ];
                prop_assert_eq!(portable::specials(&window), there);
                prop_assert_eq!(of_window(&window), there);
                let mut block = [b' '; BLOCK];
                block.as_chunks_mut().0[n] = window;
                prop_assert_eq!(of_block(&block), there.map(|bits| u64::from(bits) << (n * WINDOW)));
            }
        }

        #[test]
        fn every_other_backslash_escapes(backslashes in any::<[u64; 3]>(), more in any::<[u64; 3]>()) {
            let (mut is_first, mut is_escaped) = (0, false);
            for (some, more) in backslashes.into_iter().zip(more) {
                let backslashes = some | more;
                let mut expected = 0;
                for bit in 0..BLOCK {
                    expected |= u64::from(is_escaped) << bit;
                    is_escaped = !is_escaped && backslashes >> bit & 1 == 1;
                }
                prop_assert_eq!(escaped(backslashes, &mut is_first), expected);
                prop_assert_eq!(is_first == 1, is_escaped);
            }
        }
    }
}
