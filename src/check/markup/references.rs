//! Character references: `&amp;`, `&#8203;`, and the 2,231 names that nobody uses.

use std::convert::Infallible;

use html5gum::emitters::callback::{CallbackEmitter, CallbackEvent};
use html5gum::{Span, State, Tokenizer};
use memchr::{memchr, memchr2};

/// Where a text stands, which decides how it is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Within {
    /// Between tags: character references are decoded, a NUL stays.
    Text,
    /// In an element such as `title`: character references are decoded.
    Title,
    /// An attribute's value: a name without its semicolon counts only where nothing of a word follows.
    Attribute,
    /// A style, a script, a comment: nothing is decoded.
    Raw,
}

/// Names that mails have, without the ampersand; all others are left to the crate that has the whole table.
const COMMON: [(&str, &str); 28] = [
    ("nbsp;", "\u{a0}"),
    ("amp;", "&"),
    ("zwnj;", "\u{200c}"),
    ("copy;", "©"),
    ("rsquo;", "\u{2019}"),
    ("lsquo;", "\u{2018}"),
    ("ldquo;", "\u{201c}"),
    ("rdquo;", "\u{201d}"),
    ("mdash;", "—"),
    ("ndash;", "–"),
    ("hellip;", "…"),
    ("bull;", "•"),
    ("middot;", "·"),
    ("lt;", "<"),
    ("gt;", ">"),
    ("quot;", "\""),
    ("apos;", "'"),
    ("reg;", "®"),
    ("trade;", "™"),
    ("shy;", "\u{ad}"),
    ("zwj;", "\u{200d}"),
    ("raquo;", "»"),
    ("laquo;", "«"),
    ("rarr;", "→"),
    ("larr;", "←"),
    ("euro;", "€"),
    ("eacute;", "é"),
    ("times;", "×"),
];

/// Bytes that the crate is given at once; it keeps what it reads. No reference goes on behind another's ampersand.
const PIECE: usize = 16 * 1024;

/// Adds a text as it is read: references decoded, line ends as line feeds, a NUL as a replacement character.
pub fn decode(text: &str, within: Within, out: &mut String) {
    // Nearly every reference is longer than what it stands for.
    out.reserve(text.len());
    if memchr2(b'\r', 0, text.as_bytes()).is_none() {
        return plain(text, within, out);
    }
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    if within != Within::Text {
        return plain(&text.replace('\0', "\u{fffd}"), within, out);
    }
    for (at, piece) in text.split('\0').enumerate() {
        if at > 0 {
            out.push('\0');
        }
        plain(piece, within, out);
    }
}

fn plain(mut text: &str, within: Within, out: &mut String) {
    if within == Within::Raw {
        return out.push_str(text);
    }
    while let Some(at) = memchr(b'&', text.as_bytes()) {
        out.push_str(&text[..at]);
        text = &text[at..];
        match reference(&text[1..], within) {
            Reference::None => {
                out.push('&');
                text = &text[1..];
            }
            Reference::Is(decoded, length) => {
                out.push_str(decoded);
                text = &text[1 + length..];
            }
            Reference::Number(decoded, length) => {
                out.push(decoded);
                text = &text[1 + length..];
            }
            // What stands here and much of what follows, in one go: a text of nothing but strange references stays linear.
            Reference::Strange => {
                let next = text.as_bytes().get(PIECE..).and_then(|rest| memchr(b'&', rest));
                let (piece, rest) = text.split_at(next.map_or(text.len(), |next| PIECE + next));
                strange(piece, within, out);
                text = rest;
            }
        }
    }
    out.push_str(text);
}

/// What follows an ampersand.
enum Reference {
    /// Nothing that refers to a character.
    None,
    /// These characters, and so many bytes.
    Is(&'static str, usize),
    /// This character, and so many bytes.
    Number(char, usize),
    /// Only the whole table knows.
    Strange,
}

fn reference(rest: &str, within: Within) -> Reference {
    let bytes = rest.as_bytes();
    match bytes.first() {
        Some(b'#') => return number(rest),
        Some(first) if first.is_ascii_alphanumeric() => {}
        _ => return Reference::None,
    }
    if let Some((name, decoded)) = COMMON.iter().find(|(name, _)| rest.starts_with(name)) {
        return Reference::Is(decoded, name.len());
    }
    let word = bytes.iter().take_while(|byte| byte.is_ascii_alphanumeric()).count();
    // The usual address: `?a=1&b=2`.
    if within == Within::Attribute && bytes.get(word) == Some(&b'=') { Reference::None } else { Reference::Strange }
}

fn number(rest: &str) -> Reference {
    let near = &rest[1..rest.floor_char_boundary(10)];
    let Some((digits, _)) = near.split_once(';') else { return Reference::Strange };
    let length = 1 + digits.len() + 1;
    let code = match digits.strip_prefix(['x', 'X']) {
        Some(hex) if hex.bytes().all(|byte| byte.is_ascii_hexdigit()) => u32::from_str_radix(hex, 16),
        None if digits.bytes().all(|byte| byte.is_ascii_digit()) => digits.parse(),
        _ => return Reference::Strange,
    };
    // The controls of Windows-1252 and what is no character have a table of their own.
    match code.ok().filter(|code| matches!(code, 0x20..=0x7e | 0xa0..)).and_then(char::from_u32) {
        Some(c) => Reference::Number(c, length),
        None => Reference::Strange,
    }
}

fn strange(text: &str, within: Within, out: &mut String) {
    let attribute = within == Within::Attribute;
    let emitter = CallbackEmitter::new(|event: CallbackEvent<'_>, _: Span<()>| -> Option<Infallible> {
        match event {
            CallbackEvent::AttributeValue { value } if attribute => out.push_str(&String::from_utf8_lossy(value)),
            CallbackEvent::String { value } if !attribute => out.push_str(&String::from_utf8_lossy(value)),
            _ => {}
        }
        None
    });
    if attribute {
        // A value with quotes of both kinds had none around it.
        let quote = ["\"", "'"].into_iter().find(|quote| !text.contains(quote)).unwrap_or_default();
        let tag = format!("<a b={quote}{text}{quote} >");
        let Ok(()) = Tokenizer::new_with_emitter(&tag, Quiet(emitter)).finish();
    } else {
        let mut tokenizer = Tokenizer::new_with_emitter(text, Quiet(emitter));
        // Nothing but references is markup there.
        tokenizer.set_state(State::RcData);
        let Ok(()) = tokenizer.finish();
    }
}

/// Asks for no errors: looking for them takes longer than the rest.
struct Quiet<E>(E);

impl<E: html5gum::Emitter> html5gum::ForwardingEmitter for Quiet<E> {
    type Token = E::Token;

    fn inner(&mut self) -> &mut impl html5gum::Emitter<Token = Self::Token> {
        &mut self.0
    }

    fn should_emit_errors(&mut self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_read_in_pieces_as_it_is_in_one() {
        let words = ["&x; ", "&nGt;é", "&copy", "&amp=", "&ampx", "&#128;", "& ", "'&notit;", "&"];
        for within in [Within::Text, Within::Title, Within::Attribute] {
            for from in 0..words.len() {
                let text: String = words.iter().cycle().skip(from).take(PIECE).copied().collect();
                let (mut pieces, mut whole) = (String::new(), String::new());
                decode(&text, within, &mut pieces);
                strange(&text, within, &mut whole);
                assert!(pieces == whole, "{within:?} {from}");
            }
        }
    }
}
