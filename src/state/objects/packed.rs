//! How a content is packed: zstd around a line of JSON, with the three bodies behind it as they are.
//!
//! Bodies are nearly all of a content, and escaping them took half as long as compressing them. Versions before kept the content as one JSON object, bodies
//! included; those are read, too.

use std::io::{self, Read as _};

use crate::desired::{Content, Digest};

/// Largest content in bytes once unpacked: three bodies cannot be larger than the service's request.
const UNPACKED_BYTES: u64 = 4 * crate::limits::REQUEST_BYTES;

/// Bytes of html, plaintext and amp, where there are any.
type Lengths = [Option<usize>; 3];

/// Packs contents; it keeps its memory from one to the next.
pub(super) struct Packer {
    zstd: zstd::bulk::Compressor<'static>,
    plain: Vec<u8>,
    packed: Vec<u8>,
}

impl Packer {
    pub(super) fn new() -> io::Result<Self> {
        // The lowest level costs half and packs templates as well.
        Ok(Self { zstd: zstd::bulk::Compressor::new(1)?, plain: Vec::new(), packed: Vec::new() })
    }

    pub(super) fn pack(&mut self, mut content: Content) -> io::Result<&[u8]> {
        let bodies = [content.html.take(), content.plaintext.take(), content.amp.take()];
        let lengths: Lengths = bodies.each_ref().map(|body| body.as_ref().map(String::len));
        self.plain.clear();
        serde_json::to_writer(&mut self.plain, &(&content, lengths))?;
        for body in bodies.iter().flatten() {
            self.plain.extend_from_slice(body.as_bytes());
        }
        self.packed.clear();
        self.packed.reserve(zstd::zstd_safe::compress_bound(self.plain.len()));
        self.zstd.compress_to_buffer(&self.plain, &mut self.packed)?;
        Ok(&self.packed)
    }
}

/// Nothing where it is not the content of this digest.
pub(super) fn unpack(packed: &[u8], digest: Digest) -> Option<Content> {
    let mut plain = Vec::new();
    zstd::Decoder::new(packed).ok()?.take(UNPACKED_BYTES).read_to_end(&mut plain).ok()?;
    let content = match plain.first() {
        Some(b'{') => serde_json::from_slice(&plain).ok()?,
        _ => read(&plain)?,
    };
    (content.digest() == digest).then_some(content)
}

fn read(plain: &[u8]) -> Option<Content> {
    let mut line = serde_json::Deserializer::from_slice(plain).into_iter::<(Content, Lengths)>();
    let (content, lengths) = line.next()?.ok()?;
    let mut rest = plain.get(line.byte_offset()..)?;
    let [html, plaintext, amp] = lengths.map(|length| {
        let (body, behind) = rest.split_at_checked(length?)?;
        rest = behind;
        String::from_utf8(body.to_vec()).ok()
    });
    rest.is_empty().then_some(Content { html, plaintext, amp, ..content })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contents() -> [Content; 4] {
        let body = |text: &str| Some(text.to_owned());
        let bare = Content { name: "Welcome".to_owned(), ..Content::default() };
        [
            Content { html: body("<p>\"\n</p>"), plaintext: body("[]é{}"), amp: body("⚡"), ..bare.clone() },
            Content { html: body(""), amp: body("{\"a\":1}"), ..bare.clone() },
            Content { plaintext: body("a"), subject: body("[ \\"), ..bare.clone() },
            bare,
        ]
    }

    #[test]
    fn a_content_comes_back_as_it_was() {
        let mut packer = Packer::new().unwrap();
        for content in contents() {
            let packed = packer.pack(content.clone()).unwrap();
            assert_eq!(unpack(packed, content.digest()), Some(content));
        }
    }

    #[test]
    fn what_versions_before_kept_is_read() {
        for content in contents() {
            let packed = zstd::bulk::compress(&serde_json::to_vec(&content).unwrap(), 1).unwrap();
            assert_eq!(unpack(&packed, content.digest()), Some(content));
        }
    }

    #[test]
    fn wrong_lengths_are_no_content() {
        let [content, ..] = contents();
        for lengths in ["[1,2,9999999999]", "[null,null,null]", "[14,5]", "[2,3,3]", "[1.5,0,0]", "[-1,0,0]"] {
            let head = Content { html: None, plaintext: None, amp: None, ..content.clone() };
            let text = format!("[{},{lengths}]<p>x</p>", serde_json::to_string(&head).unwrap());
            let packed = zstd::bulk::compress(text.as_bytes(), 1).unwrap();
            assert_eq!(unpack(&packed, content.digest()), None, "{lengths}");
        }
    }
}
