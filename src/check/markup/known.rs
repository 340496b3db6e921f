//! Start tags that need not be looked at again: a table of mails repeats the same few for every cell.
//!
//! What a `<` starts depends on nothing but the bytes that follow, so the same bytes are the same tag.

use std::ops::Range;

/// Tags that are kept; of two that fall on one place the later stays.
const PLACES: usize = 64;

/// The tags of one body in whose attributes there was nothing to see.
pub(super) struct Known {
    /// Where each stands, and the bytes of its name.
    tags: [(Range<usize>, usize); PLACES],
}

impl Default for Known {
    fn default() -> Self {
        Self { tags: [const { (0..0, 0) }; PLACES] }
    }
}

impl Known {
    /// Keeps a tag, from `<` to the first `>`.
    pub fn keep(&mut self, bytes: &[u8], span: Range<usize>, name: usize) {
        if let Some(place) = self.tags.get_mut(place(&bytes[span.clone()])) {
            *place = (span, name);
        }
    }

    /// Where the name of a tag stands, if the tag is known.
    pub fn name(&self, bytes: &[u8], span: Range<usize>) -> Option<Range<usize>> {
        let tag = &bytes[span.clone()];
        let (known, name) = self.tags.get(place(tag))?;
        (bytes[known.clone()] == *tag).then(|| span.start + 1..span.start + 1 + name)
    }
}

/// The place of a tag, out of its length, its middle and its end.
fn place(tag: &[u8]) -> usize {
    let word = |at: usize| match tag.get(at..at + 8).and_then(|bytes| bytes.try_into().ok()) {
        Some(bytes) => u64::from_le_bytes(bytes),
        None => tag.iter().fold(0, |word, byte| word << 8 | u64::from(*byte)),
    };
    let some = word(tag.len() / 2) ^ word(tag.len().saturating_sub(8)).rotate_left(32) ^ tag.len() as u64;
    // The upper bits of a product depend on every bit.
    (some.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - PLACES.ilog2())) as usize
}
