//! Strict YAML into a [`Node`] tree: one document, no anchors, aliases, merge keys or tags, bounded depth (safety P9).

mod lines;

use std::collections::HashSet;
use std::ops::Range;

use granit_parser::{Event, Parser, ScalarStyle, Span, options};

use super::node::{File, Node, Place, Spot, Value};
use crate::limits;

/// Why a text is no strict YAML, or a duplicate key in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flaw {
    /// Bytes of the text.
    pub bytes: Range<usize>,
    /// A plain sentence.
    pub message: String,
    /// The way out.
    pub help: Option<&'static str>,
    /// Whether it is a key that stands twice; the rest of the tree is good then.
    pub duplicate: bool,
}

/// A collection in the making.
enum Open {
    List(usize, Vec<Node>),
    /// The start, the entries, the key that waits for its value, and the keys so far where they are many.
    Map(usize, Vec<(Spot<String>, Node)>, Option<Spot<String>>, HashSet<String>),
}

impl Open {
    fn map(start: usize) -> Self {
        Self::Map(start, Vec::new(), None, HashSet::new())
    }
}

/// Reads one document. An empty text is an empty map.
///
/// # Errors
///
/// All that is wrong: one flaw that stops the reading, or every key that stands twice.
pub fn read(text: &str) -> (Option<Node>, Vec<Flaw>) {
    lines::read(text).map_or_else(|| parsed(text), |node| (Some(node), Vec::new()))
}

/// The same by the parser, which knows all of YAML.
fn parsed(text: &str) -> (Option<Node>, Vec<Flaw>) {
    let mut builder = Builder::default();
    match builder.parse(text) {
        Ok(()) => (Some(builder.root.unwrap_or_else(|| node(Value::Map(Vec::new()), 0..0))), builder.flaws),
        Err(flaw) => {
            builder.flaws.push(flaw);
            (None, builder.flaws)
        }
    }
}

/// What the parser says, in words that help somebody who does not know YAML's grammar.
fn explained(said: &str) -> (String, Option<&'static str>) {
    if said.contains("recursion limit") {
        return (format!("the manifest nests deeper than {} levels", limits::MANIFEST_DEPTH), None);
    }
    let help = if said.starts_with("mapping values are not allowed") {
        Some("a value with `: ` in it needs quotes")
    } else if said.contains("tabs") {
        Some("indent with blanks")
    } else if said.contains("quoted scalar") {
        Some("is the quote that opens the value above closed?")
    } else {
        None
    };
    (said.to_owned(), help)
}

/// A tree in the making.
#[derive(Default)]
struct Builder {
    open: Vec<Open>,
    root: Option<Node>,
    /// Keys that stand twice.
    flaws: Vec<Flaw>,
}

impl Builder {
    fn parse(&mut self, text: &str) -> Result<(), Flaw> {
        let options = options! {
            emit_comments: false,
            disallow_directives: true,
            emit_unresolved_aliases: true,
            flow_nesting_limit: limits::MANIFEST_DEPTH + 8,
            block_nesting_limit: limits::MANIFEST_DEPTH + 8
        };
        let mut documents = 0;
        for event in Parser::new_from_str_with_options(text, options) {
            let (event, span) = event.map_err(|error| {
                let at = error.marker().byte_offset().unwrap_or(text.len());
                let (message, help) = explained(&error.info());
                flaw(at..at, message, help)
            })?;
            let bytes = span.byte_range().unwrap_or(0..0);
            refuse(text, &event, &span, &bytes)?;
            match event {
                Event::DocumentStart(..) => {
                    documents += 1;
                    if documents > 1 {
                        return Err(flaw(
                            bytes,
                            "a manifest is one document, and here a second one starts",
                            Some("remove the `---`"),
                        ));
                    }
                }
                Event::SequenceStart(..) => self.open(&bytes, Open::List(bytes.start, Vec::new()))?,
                Event::MappingStart(..) => self.open(&bytes, Open::map(bytes.start))?,
                Event::SequenceEnd | Event::MappingEnd => self.close(bytes.end)?,
                Event::Scalar(value, style, ..) => {
                    let plain = style == ScalarStyle::Plain;
                    let bytes = if plain { trim(text, bytes) } else { bytes };
                    self.place(node(Value::Scalar { text: value.into_owned(), plain }, bytes))?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn open(&mut self, bytes: &Range<usize>, open: Open) -> Result<(), Flaw> {
        if self.open.len() >= limits::MANIFEST_DEPTH {
            let message = format!("the manifest nests deeper than {} levels", limits::MANIFEST_DEPTH);
            return Err(flaw(bytes.clone(), message, None));
        }
        self.open.push(open);
        Ok(())
    }

    /// Ends the innermost collection.
    fn close(&mut self, end: usize) -> Result<(), Flaw> {
        let Some(open) = self.open.pop() else { return Ok(()) };
        let (value, start) = match open {
            Open::List(start, list) => (Value::List(list), start),
            Open::Map(start, entries, ..) => (Value::Map(entries), start),
        };
        self.place(node(value, start..end.max(start)))
    }

    fn place(&mut self, node: Node) -> Result<(), Flaw> {
        match self.open.last_mut() {
            None => self.root = Some(node),
            Some(Open::List(_, list)) => list.push(node),
            Some(Open::Map(_, entries, waiting, seen)) => match waiting.take() {
                None => {
                    let Value::Scalar { text, .. } = node.value else {
                        return Err(flaw(
                            node.place.bytes,
                            "a key is a word, not a list or a map",
                            Some("a value that starts with `{` needs quotes"),
                        ));
                    };
                    if text == "<<" {
                        let help = Some("write the keys out");
                        return Err(flaw(node.place.bytes, "merge keys (`<<`) are not allowed in a manifest", help));
                    }
                    *waiting = Some(Spot { value: text, place: node.place });
                }
                Some(key) => {
                    if stands(&key.value, entries, seen) {
                        self.flaws.push(Flaw {
                            duplicate: true,
                            ..flaw(
                                key.place.bytes,
                                format!("`{}` stands here a second time", key.value),
                                Some("keep one of the two"),
                            )
                        });
                    } else {
                        entries.push((key, node));
                    }
                }
            },
        }
        Ok(())
    }
}

/// What a manifest may not have of all that YAML has.
fn refuse(text: &str, event: &Event<'_>, span: &Span, bytes: &Range<usize>) -> Result<(), Flaw> {
    let help = Some("write the value out where it is used");
    match event {
        Event::Alias(_) | Event::UnresolvedAlias(_) => {
            return Err(flaw(bytes.clone(), "aliases (`*name`) are not allowed in a manifest", help));
        }
        _ => {}
    }
    if event.anchor_id().is_some() {
        // The event's bytes are those of the value after it.
        let before = text.get(..bytes.start).unwrap_or_default();
        let bytes = before.rfind('&').map_or_else(|| bytes.clone(), |at| at..before.trim_end().len());
        return Err(flaw(bytes, "anchors (`&name`) are not allowed in a manifest", help));
    }
    if event.tag().is_some() {
        let bytes = span.tag_span().and_then(|tag| tag.byte_range()).unwrap_or_else(|| bytes.clone());
        let help = Some("remove the tag; every field has one type");
        return Err(flaw(bytes, "tags (`!name`) are not allowed in a manifest", help));
    }
    Ok(())
}

/// Keys of one map that are compared one by one; a hostile map has thousands.
const FEW: usize = 16;

/// Whether a key stands in a map already.
fn stands(key: &str, entries: &[(Spot<String>, Node)], seen: &mut HashSet<String>) -> bool {
    if entries.len() < FEW {
        return entries.iter().any(|(known, _)| known.value == key);
    }
    if seen.is_empty() {
        seen.extend(entries.iter().map(|(known, _)| known.value.clone()));
    }
    !seen.insert(key.to_owned())
}

fn node(value: Value, bytes: Range<usize>) -> Node {
    Node { value, place: Place { file: File::Manifest, bytes } }
}

fn flaw(bytes: Range<usize>, message: impl Into<String>, help: Option<&'static str>) -> Flaw {
    Flaw { bytes, message: message.into(), help, duplicate: false }
}

/// An unquoted scalar's span without the blanks and the comment that some parsers count in.
fn trim(text: &str, bytes: Range<usize>) -> Range<usize> {
    let Some(slice) = text.get(bytes.clone()) else { return bytes };
    bytes.start..bytes.start + slice.trim_end().len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(text: &str) -> String {
        let (_, flaws) = read(text);
        flaws.first().map_or_else(|| "good".to_owned(), |flaw| flaw.message.clone())
    }

    #[test]
    fn strange_yaml_is_refused_in_plain_words() {
        for (text, says) in [
            ("a: &x 1\nb: 2\n", "anchors"),
            ("a: 1\nb: *x\n", "aliases"),
            ("<<: {a: 1}\n", "merge keys"),
            ("a: !!str 1\n", "tags"),
            ("a: 1\n---\nb: 2\n", "one document"),
            ("a: 1\na: 2\n", "a second time"),
            ("[a, b]: 1\n", "a key is a word"),
            ("a: [1\n", ""),
            ("a: b: c\n", "mapping values are not allowed"),
            ("%YAML 1.1\n---\na: 1\n", ""),
        ] {
            assert!(message(text).contains(says) && message(text) != "good", "{text}: {}", message(text));
        }
    }

    #[test]
    fn an_anchor_is_found_where_it_stands() {
        for text in ["a: &x 1\n", "a: &x [1]\n", "a: &x\n  b: 1\n"] {
            let (_, flaws) = read(text);
            assert_eq!(&text[flaws[0].bytes.clone()], "&x", "{text}");
        }
    }

    #[test]
    fn depth_is_counted_exactly() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert_eq!(message(&nested(16)), "good");
        assert!(message(&nested(17)).contains("deeper than 16"));
        assert!(message(&nested(100_000)).contains("deeper than 16"));
    }

    #[test]
    fn every_value_knows_its_bytes() {
        let text = "name: Welcome  # a word\nlist: [\"é\", b]\n";
        let (root, flaws) = read(text);
        assert_eq!(flaws, []);
        let Value::Map(entries) = root.unwrap().value else { panic!() };
        assert_eq!(&text[entries[0].1.place.bytes.clone()], "Welcome");
        let Value::List(list) = &entries[1].1.value else { panic!() };
        assert_eq!(&text[list[0].place.bytes.clone()], "\"é\"");
        assert_eq!(&text[list[1].place.bytes.clone()], "b");
    }
}
