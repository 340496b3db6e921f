//! Typed values out of a [`Node`] tree; what does not fit becomes a located problem.

use super::node::{File, Node, Place, Plain, Spot, Value};
use super::problem::{Fault, Problem};
use super::text::Text;
use crate::diagnostic::Location;

/// Findings of one kind in one file before the rest is only counted: a hostile file has a hundred thousand.
const PER_FAULT: usize = 10;

/// The two files that values come from.
#[derive(Debug, Clone, Copy)]
pub struct Files<'a> {
    /// letterpress.toml.
    pub config: &'a Text,
    /// The manifest.
    pub manifest: &'a Text,
}

impl<'a> Files<'a> {
    /// The file that a place is in.
    #[must_use]
    pub fn of(&self, place: &Place) -> &'a Text {
        match place.file {
            File::Config => self.config,
            File::Manifest => self.manifest,
        }
    }

    /// The location of a place.
    #[must_use]
    pub fn locate(&self, place: &Place) -> Location {
        self.of(place).at(place.bytes.clone())
    }
}

/// Reads values and collects what is wrong with them.
pub struct Reader<'a> {
    /// Where places point into.
    pub files: Files<'a>,
    /// What is wrong so far.
    pub problems: Vec<Problem>,
}

impl<'a> Reader<'a> {
    /// A reader with nothing to report yet.
    #[must_use]
    pub fn new(files: Files<'a>) -> Self {
        Self { files, problems: Vec::new() }
    }

    /// Reports a problem, unless its kind has been reported often enough.
    pub fn report(&mut self, fault: Fault, place: &Place, message: impl FnOnce() -> String, help: Option<String>) {
        if self.problems.iter().filter(|problem| problem.fault == fault).count() >= PER_FAULT {
            return;
        }
        let mut problem = Problem::new(fault, self.files.locate(place), message());
        problem.help = help;
        self.problems.push(problem);
    }

    /// A map's entries, each handed to `field`, which says whether it knows the key.
    pub fn map(
        &mut self,
        node: Node,
        name: &str,
        known: &[&str],
        mut field: impl FnMut(&mut Self, Spot<String>, Node),
    ) -> bool {
        let Value::Map(entries) = node.value else {
            self.report(
                Fault::WrongType,
                &node.place,
                || format!("`{name}` must be a map of {}, and this is {}", list(known), node.kind()),
                None,
            );
            return false;
        };
        for (key, value) in entries {
            if known.contains(&key.value.as_str()) {
                field(self, key, value);
            } else {
                self.unknown(&key, name, known);
            }
        }
        true
    }

    /// Reports a key that does not exist, with the one that was probably meant.
    pub fn unknown(&mut self, key: &Spot<String>, name: &str, known: &[&str]) {
        let meant = closest(&key.value, known.iter().copied());
        let help =
            meant.map_or_else(|| format!("known here: {}", list(known)), |word| format!("did you mean `{word}`?"));
        let place = if name.is_empty() { String::new() } else { format!(" in `{name}`") };
        self.report(Fault::UnknownKey, &key.place, || format!("unknown key `{}`{place}", key.value), Some(help));
    }

    /// Text. An unquoted number, boolean or nothing is not text: it needs quotes.
    pub fn text(&mut self, node: Node, name: &str) -> Option<Spot<String>> {
        match node.value {
            Value::Scalar { text, plain } => match if plain { Plain::of(&text) } else { Plain::Text } {
                Plain::Text => Some(Spot { value: text, place: node.place }),
                Plain::Nothing => {
                    let help = Some(format!("give it a value, or remove the line; `{name}: \"\"` is empty text"));
                    self.report(Fault::WrongType, &node.place, || format!("`{name}` has no value"), help);
                    None
                }
                means @ (Plain::Boolean | Plain::Number) => {
                    let message = || format!("`{name}` must be text, and `{text}` without quotes is {}", means.name());
                    let help = Some(format!("write `{name}: \"{text}\"`"));
                    self.report(Fault::WrongType, &node.place, message, help);
                    None
                }
            },
            _ => {
                let message = || format!("`{name}` must be text, and this is {}", node.kind());
                self.report(Fault::WrongType, &node.place, message, None);
                None
            }
        }
    }

    /// `true`, `false`, `1` or `0`.
    pub fn switch(&mut self, node: Node, name: &str) -> Option<Spot<bool>> {
        let value = match &node.value {
            Value::Scalar { text, plain: true } => match text.as_str() {
                "true" | "1" => Some(true),
                "false" | "0" => Some(false),
                _ => None,
            },
            Value::Scalar { .. } => None,
            _ => {
                let message = || format!("`{name}` must be true or false, and this is {}", node.kind());
                self.report(Fault::WrongType, &node.place, message, None);
                return None;
            }
        };
        if value.is_none() {
            let help = Some("use true, false, 1 or 0, without quotes".to_owned());
            self.report(Fault::BadValue, &node.place, || format!("`{name}` must be true or false"), help);
        }
        Some(Spot { value: value?, place: node.place })
    }

    /// A map from text to text, in the order of the file.
    pub fn texts(&mut self, node: Node, name: &str) -> Vec<(Spot<String>, Spot<String>)> {
        let Value::Map(entries) = node.value else {
            let message = || format!("`{name}` must be a map of text to text, and this is {}", node.kind());
            self.report(Fault::WrongType, &node.place, message, None);
            return Vec::new();
        };
        entries
            .into_iter()
            .filter_map(|(key, value)| {
                let value = self.text(value, &key.value)?;
                Some((key, value))
            })
            .collect()
    }

    /// A list, each item handed to `item`.
    pub fn list(&mut self, node: Node, name: &str, mut item: impl FnMut(&mut Self, Node)) {
        match node.value {
            Value::List(nodes) => nodes.into_iter().for_each(|node| item(self, node)),
            _ => {
                let message = || format!("`{name}` must be a list, and this is {}", node.kind());
                self.report(Fault::WrongType, &node.place, message, None);
            }
        }
    }
}

/// The word that was probably meant.
#[must_use]
pub fn closest<'w>(word: &str, known: impl IntoIterator<Item = &'w str>) -> Option<&'w str> {
    let word: String = word.chars().take(64).collect::<String>().to_lowercase();
    known
        .into_iter()
        .map(|candidate| (strsim::damerau_levenshtein(&word, &candidate.to_lowercase()), candidate))
        .filter(|(distance, candidate)| {
            *distance * 3 <= candidate.chars().count().max(3) && *distance < word.chars().count()
        })
        .min()
        .map(|(_, candidate)| candidate)
}

/// Names as in a sentence.
#[must_use]
pub fn list(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}
