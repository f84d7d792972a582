//! Finds what is special in strings of JSON, sixteen bytes or four times as many at a time: a bit for each byte.
//!
//! The only `unsafe` beside the allocator's settings: the compiler asks for it at instructions that not every processor of the kind may have.
//! SSE2 is a part of x86-64; AVX2 is used where the processor has it.

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

/// Blocks that are looked at before `memchr` is called. Prose has a quote or an escape every few bytes, where the call costs more than the
/// search; base64 has none for megabytes.
const PLAIN: usize = 2;

/// The position after a string of which the rest begins at `at`. Or how far it was read: to the last bytes, which are no whole block, or, with
/// `STRICT`, to what is neither a plain character nor a short escape.
#[inline]
pub(super) fn end_of_string<const STRICT: bool>(text: &[u8], at: usize) -> Result<usize, usize> {
    #[cfg(target_arch = "x86_64")]
    #[expect(unsafe_code, reason = "the processor has AVX2")]
    if is_x86_feature_detected!("avx2") {
        return unsafe { avx2::end_of_string::<STRICT>(text, at) };
    }
    end_by::<STRICT>(text, at, of_block)
}

#[expect(clippy::inline_always, reason = "compiled for each caller")]
#[inline(always)]
fn end_by<const STRICT: bool>(
    text: &[u8],
    mut at: usize,
    of_block: impl Fn(&[u8; BLOCK]) -> [u64; 3],
) -> Result<usize, usize> {
    let (mut is_escaped, mut plain) = (0, 0);
    while let Some(block) = text.get(at..).and_then(<[u8]>::first_chunk) {
        let [quotes, backslashes, mut odd] = of_block(block);
        let escaped = escaped(backslashes, &mut is_escaped);
        let (ends, mut letters) = (quotes & !escaped, escaped & !quotes & !backslashes);
        if !STRICT {
            (odd, letters) = (0, 0);
        }
        while letters != 0 {
            let letter = letters.trailing_zeros() as usize;
            odd |= u64::from(!is_short(block[letter % BLOCK])) << letter;
            letters &= letters - 1;
        }
        let [first, end] = [odd, ends].map(|bits| bits.trailing_zeros() as usize);
        if end < first {
            return Ok(at + end + 1);
        }
        if odd != 0 {
            // The backslash before it belongs to it.
            return Err(at + first - usize::from(escaped >> first & 1 == 1));
        }
        at += BLOCK;
        plain = if backslashes == 0 { plain + 1 } else { 0 };
        if !STRICT && plain > PLAIN {
            let rest = text.get(at..).unwrap_or_default();
            at += memchr::memchr2(b'"', b'\\', rest).unwrap_or(rest.len());
        }
    }
    Err(at - usize::from(is_escaped > 0))
}

/// What stands behind the backslash of an escape, in a block with these backslashes. `is_first` is 1 where its first byte does, and then
/// where the one behind it does.
#[inline]
fn escaped(backslashes: u64, is_first: &mut u64) -> u64 {
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

/// Whether this stands behind a backslash and ends the escape.
pub(super) fn is_short(letter: u8) -> bool {
    /// A table, because most escapes of a text are of these.
    const SHORT: [bool; 256] = {
        let (mut short, letters) = ([false; 256], b"\"\\/bfnrt");
        let mut n = 0;
        while n < letters.len() {
            short[letters[n] as usize] = true;
            n += 1;
        }
        short
    };
    SHORT[usize::from(letter)]
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

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::{
        __m256i, _mm256_cmpeq_epi8, _mm256_cmpgt_epi8, _mm256_movemask_epi8, _mm256_set_epi64x,
        _mm256_set1_epi8,
    };

    use super::BLOCK;

    #[target_feature(enable = "avx2")]
    pub(super) fn end_of_string<const STRICT: bool>(
        text: &[u8],
        at: usize,
    ) -> Result<usize, usize> {
        super::end_by::<STRICT>(text, at, |block| of_block(block))
    }

    // Without closures: they are not inlined into functions that lack AVX2, such as `map`.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn of_block(block: &[u8; BLOCK]) -> [u64; 3] {
        let (halves, _) = block.as_chunks();
        let [quotes, backslashes, others] = of_half(&halves[0]);
        let [more_quotes, more_backslashes, more_others] = of_half(&halves[1]);
        [
            more_quotes << HALF | quotes,
            more_backslashes << HALF | backslashes,
            more_others << HALF | others,
        ]
    }

    const HALF: usize = BLOCK / 2;

    #[inline]
    #[target_feature(enable = "avx2")]
    fn of_half(half: &[u8; HALF]) -> [u64; 3] {
        let ([first, second, third, fourth], []) = half.as_chunks() else {
            unreachable!("a half is four words");
        };
        let bytes = _mm256_set_epi64x(
            i64::from_le_bytes(*fourth),
            i64::from_le_bytes(*third),
            i64::from_le_bytes(*second),
            i64::from_le_bytes(*first),
        );
        let quotes = _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(b'"'.cast_signed()));
        let backslashes = _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(b'\\'.cast_signed()));
        // Signed: what is above ASCII is below 0.
        let others = _mm256_cmpgt_epi8(_mm256_set1_epi8(0x20), bytes);
        [bits(quotes), bits(backslashes), bits(others)]
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn bits(found: __m256i) -> u64 {
        u64::from(_mm256_movemask_epi8(found).cast_unsigned())
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
        fn all_processors_find_the_same_end(text in "[ -~]{0,40}([\"\\\\a\\-ä\n]|[a-z]{70}){0,12}[ -~]{64}", at in 0..40_usize) {
            let text = text.as_bytes();
            let of = |block: &[u8; BLOCK]| of_block(block);
            prop_assert_eq!(end_of_string::<true>(text, at), end_by::<true>(text, at, of));
            prop_assert_eq!(end_of_string::<false>(text, at), end_by::<false>(text, at, of));
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
