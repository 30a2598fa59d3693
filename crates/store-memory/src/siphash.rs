//! SipHash-1-3 with 128 bits of output, over bytes that are all at hand.
//!
//! The published algorithm (Aumasson and Bernstein, "SipHash: a fast short-input PRF", 2012, and the 128-bit variant of its
//! reference implementation) without the buffering that a streaming hasher needs; tests hold it against the crate
//! `siphasher`.

/// The 128-bit SipHash-1-3 of `bytes` under the key `(k0, k1)`.
#[inline]
pub(crate) fn siphash(k0: u64, k1: u64, bytes: &[u8]) -> (u64, u64) {
    let mut v = [
        k0 ^ 0x736f_6d65_7073_6575,
        k1 ^ 0x646f_7261_6e64_6f6d ^ 0xee,
        k0 ^ 0x6c79_6765_6e65_7261,
        k1 ^ 0x7465_6462_7974_6573,
    ];
    let (words, rest) = bytes.as_chunks::<8>();
    for word in words {
        absorb(&mut v, u64::from_le_bytes(*word));
    }
    // The last word: what is left of the bytes, and the length's low byte on top.
    let mut last = (bytes.len() as u64) << 56;
    for (i, byte) in rest.iter().enumerate() {
        last |= u64::from(*byte) << (8 * i);
    }
    absorb(&mut v, last);

    v[2] ^= 0xee;
    let first = squeeze(&mut v);
    v[1] ^= 0xdd;
    (first, squeeze(&mut v))
}

#[inline(always)]
fn absorb(v: &mut [u64; 4], word: u64) {
    v[3] ^= word;
    round(v);
    v[0] ^= word;
}

#[inline(always)]
fn squeeze(v: &mut [u64; 4]) -> u64 {
    round(v);
    round(v);
    round(v);
    v[0] ^ v[1] ^ v[2] ^ v[3]
}

#[inline(always)]
fn round(v: &mut [u64; 4]) {
    v[0] = v[0].wrapping_add(v[1]);
    v[2] = v[2].wrapping_add(v[3]);
    v[1] = v[1].rotate_left(13) ^ v[0];
    v[3] = v[3].rotate_left(16) ^ v[2];
    v[0] = v[0].rotate_left(32);
    v[2] = v[2].wrapping_add(v[1]);
    v[0] = v[0].wrapping_add(v[3]);
    v[1] = v[1].rotate_left(17) ^ v[2];
    v[3] = v[3].rotate_left(21) ^ v[0];
    v[2] = v[2].rotate_left(32);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, prop_assert_eq, proptest};
    use siphasher::sip128::SipHasher13;

    use super::siphash;

    proptest! {
        #[test]
        fn it_is_siphash_1_3(k0 in any::<u64>(), k1 in any::<u64>(), bytes in any::<Vec<u8>>()) {
            let theirs = SipHasher13::new_with_keys(k0, k1).hash(&bytes);
            prop_assert_eq!(siphash(k0, k1, &bytes), (theirs.h1, theirs.h2));
        }
    }

    #[test]
    fn every_length_of_the_last_word_counts() {
        for length in 0..300 {
            let bytes: Vec<u8> = (0_u8..=255).cycle().take(length).collect();
            let theirs = SipHasher13::new_with_keys(3, 4).hash(&bytes);
            assert_eq!(siphash(3, 4, &bytes), (theirs.h1, theirs.h2), "{length} bytes");
        }
    }
}
