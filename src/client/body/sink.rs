//! Where a request goes: counted, cut into pieces for the network, or written out whole.

use std::io;

use serde::Serialize;

use super::attached::{BLOCK, Seen, base64_bytes, changed, encode, fill, open};
use super::{Piece, Pieces};
use crate::desired::Attachment;

/// Bytes of `\u0001`, the longest that one byte of text becomes.
const ESCAPE: u64 = 6;

/// Where a request goes.
pub(super) trait Sink {
    fn put(&mut self, json: &[u8]) -> io::Result<()>;
    /// Text in quotes, escaped.
    fn text(&mut self, text: &str) -> io::Result<()>
    where
        Self: Sized,
    {
        json(self, text)
    }
    fn file(&mut self, file: &Attachment) -> io::Result<()>;
}

/// Counts.
pub(super) struct Counter {
    pub(super) bytes: u64,
    /// Whether the text parts count as the most that they could come to.
    pub(super) roughly: bool,
}

impl Sink for Counter {
    fn put(&mut self, json: &[u8]) -> io::Result<()> {
        self.bytes += json.len() as u64;
        Ok(())
    }

    fn text(&mut self, text: &str) -> io::Result<()> {
        if !self.roughly {
            return json(self, text);
        }
        self.bytes += 2 + text.len() as u64 * ESCAPE;
        Ok(())
    }

    fn file(&mut self, file: &Attachment) -> io::Result<()> {
        self.bytes += base64_bytes(file.bytes);
        Ok(())
    }
}

/// Cuts into pieces.
#[derive(Default)]
pub(super) struct Collector {
    list: Vec<Piece>,
    text: Vec<u8>,
    bytes: u64,
}

impl Collector {
    /// With room for so many bytes of text.
    pub(super) fn of_about(bytes: usize) -> Self {
        Self { text: Vec::with_capacity(bytes), ..Self::default() }
    }

    /// All of it.
    pub(super) fn finish(mut self) -> Pieces {
        self.list.push(Piece::Text(self.text));
        Pieces { list: self.list, bytes: self.bytes }
    }
}

impl Sink for Collector {
    fn put(&mut self, json: &[u8]) -> io::Result<()> {
        self.bytes += json.len() as u64;
        self.text.extend_from_slice(json);
        Ok(())
    }

    fn text(&mut self, text: &str) -> io::Result<()> {
        // Other controls than line ends have escapes that are left to the serializer.
        if text.bytes().fold(false, |strange, byte| strange | (byte < 0x20 && byte != b'\n')) {
            return json(self, text);
        }
        let before = self.text.len();
        quote(&mut self.text, text.as_bytes());
        self.bytes += (self.text.len() - before) as u64;
        Ok(())
    }

    fn file(&mut self, file: &Attachment) -> io::Result<()> {
        self.bytes += base64_bytes(file.bytes);
        self.list.push(Piece::Text(std::mem::take(&mut self.text)));
        self.list.push(Piece::File(file.clone()));
        Ok(())
    }
}

/// Puts text into quotes that has no other controls than `\n`: looking for the three bytes that need an escape takes a third of looking at each.
fn quote(out: &mut Vec<u8>, text: &[u8]) {
    out.reserve(text.len() + text.len() / 8 + 2);
    out.push(b'"');
    let mut rest = text;
    while let Some(at) = memchr::memchr3(b'"', b'\\', b'\n', rest) {
        let (plain, behind) = rest.split_at(at);
        out.extend_from_slice(plain);
        let (special, behind) = behind.split_at(1);
        out.extend_from_slice(if special == b"\n" { b"\\n" } else { b"\\" });
        if special != b"\n" {
            out.extend_from_slice(special);
        }
        rest = behind;
    }
    out.extend_from_slice(rest);
    out.push(b'"');
}

/// Writes everything, files included.
pub(super) struct Whole<'a>(pub(super) &'a mut dyn io::Write);

impl Sink for Whole<'_> {
    fn put(&mut self, json: &[u8]) -> io::Result<()> {
        self.0.write_all(json)
    }

    fn file(&mut self, file: &Attachment) -> io::Result<()> {
        let mut source = open(&file.file)?;
        let mut seen = Seen::default();
        let mut block = vec![0; BLOCK];
        loop {
            let filled = fill(&mut source, &mut block)?;
            seen.add(&block[..filled]);
            self.0.write_all(&encode(&block[..filled]))?;
            if filled < block.len() {
                break;
            }
        }
        if seen.is(file) { Ok(()) } else { Err(changed(file)) }
    }
}

/// Writes a value as JSON.
pub(super) fn json<T: Serialize + ?Sized>(out: &mut impl Sink, value: &T) -> io::Result<()> {
    struct Put<'a, S>(&'a mut S);
    impl<S: Sink> io::Write for Put<'_, S> {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.put(bytes).map(|()| bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    serde_json::to_writer(Put(out), value).map_err(io::Error::from)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_text_is_quoted_as_the_serializer_does(text in "[\\n\"\\\\a-cé\\x7f\u{2028}]{0,400}", other in "[\\t\\r\\x00]?") {
            for text in [text.clone(), text + &other] {
                let mut pieces = Collector::default();
                pieces.text(&text).unwrap();
                prop_assert_eq!(pieces.bytes, pieces.text.len() as u64);
                prop_assert_eq!(pieces.text, serde_json::to_vec(&text).unwrap());
            }
        }
    }
}
