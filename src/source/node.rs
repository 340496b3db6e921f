//! A tree of values in which every value knows where it stands; YAML and TOML are both read into it.

use std::collections::HashMap;
use std::ops::Range;

/// Which of the two files a value came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum File {
    /// letterpress.toml.
    Config,
    /// The folder's manifest.yaml.
    Manifest,
}

/// Bytes of one of the two files.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Place {
    /// The file.
    pub file: File,
    /// The bytes, quotes included.
    pub bytes: Range<usize>,
}

/// A value and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spot<T> {
    /// The value.
    pub value: T,
    /// Its place.
    pub place: Place,
}

impl<T> Spot<T> {
    /// The same place with another value.
    #[must_use]
    pub fn with<U>(&self, value: U) -> Spot<U> {
        Spot { value, place: self.place.clone() }
    }
}

/// A value as written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// What it is.
    pub value: Value,
    /// Where it stands.
    pub place: Place,
}

/// The shapes that a value can have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// A scalar; `plain` when it was written without quotes, so that it may mean a number, a boolean or nothing.
    Scalar {
        /// Its text.
        text: String,
        /// Written without quotes.
        plain: bool,
    },
    /// A list.
    List(Vec<Node>),
    /// A map in the order of the file; keys are unique.
    Map(Vec<(Spot<String>, Node)>),
}

/// What an unquoted scalar means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Plain {
    /// `null`, `~` or nothing at all.
    Nothing,
    /// `true`, `no`, `On`, …: a boolean for some YAML reader.
    Boolean,
    /// A number, also `1_000`, `0x1f`, `.inf`.
    Number,
    /// Text.
    Text,
}

impl Node {
    /// What the value is called in a sentence.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match &self.value {
            Value::Scalar { text, plain: true } => Plain::of(text).name(),
            Value::Scalar { .. } => "text",
            Value::List(_) => "a list",
            Value::Map(_) => "a map",
        }
    }

    /// Lays `over` on `self`: maps are merged key by key, everything else is replaced.
    pub fn merge(&mut self, over: Self) {
        match (&mut self.value, over.value) {
            // Mostly there are no defaults.
            (Value::Map(under), Value::Map(entries)) if under.is_empty() => *under = entries,
            (Value::Map(under), Value::Map(entries)) => {
                let at: HashMap<String, usize> =
                    under.iter().enumerate().map(|(at, (key, _))| (key.value.clone(), at)).collect();
                for (key, node) in entries {
                    match at.get(&key.value).and_then(|at| under.get_mut(*at)) {
                        Some((known, value)) => {
                            *known = key;
                            value.merge(node);
                        }
                        None => under.push((key, node)),
                    }
                }
            }
            (_, value) => {
                self.value = value;
                self.place = over.place;
            }
        }
    }

    /// Takes an entry out of a map.
    pub fn take(&mut self, key: &str) -> Option<(Spot<String>, Self)> {
        match &mut self.value {
            Value::Map(entries) => {
                let at = entries.iter().position(|(known, _)| known.value == key)?;
                Some(entries.remove(at))
            }
            _ => None,
        }
    }
}

impl Plain {
    /// What it is called in a sentence.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::Boolean => "a boolean",
            Self::Number => "a number",
            Self::Text => "text",
        }
    }

    /// Reads an unquoted scalar as the union of YAML 1.1 and 1.2 does, so that nothing means two things.
    #[must_use]
    pub fn of(text: &str) -> Self {
        match text {
            "" | "~" | "null" | "Null" | "NULL" => return Self::Nothing,
            _ => {}
        }
        let is = |words: &[&str]| words.iter().any(|word| text.eq_ignore_ascii_case(word));
        if is(&["true", "false", "yes", "no", "on", "off"]) {
            return Self::Boolean;
        }
        let digits = text.trim_start_matches(['-', '+']);
        // Nearly all text begins with a letter.
        if !digits.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
            return Self::Text;
        }
        if is(&[".inf", "-.inf", "+.inf", ".nan"]) {
            return Self::Number;
        }
        let of_base = |bases: [&str; 2], digit: fn(u8) -> bool| {
            let rest = bases.iter().find_map(|base| digits.strip_prefix(base));
            rest.is_some_and(|rest| !rest.is_empty() && rest.bytes().all(digit))
        };
        let based = of_base(["0x", "0X"], |byte| byte.is_ascii_hexdigit() || byte == b'_')
            || of_base(["0o", "0O"], |byte| matches!(byte, b'0'..=b'7'));
        if based || digits.replace('_', "").parse::<f64>().is_ok() { Self::Number } else { Self::Text }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_unquoted_scalar_means() {
        for (text, means) in [
            ("", Plain::Nothing),
            ("no", Plain::Boolean),
            ("True", Plain::Boolean),
            ("1.0", Plain::Number),
            ("-0x1f", Plain::Number),
            ("1e3", Plain::Number),
            ("1_000", Plain::Number),
            ("1.0.0", Plain::Text),
            ("note", Plain::Text),
            ("infinity", Plain::Text),
            ("2026-11-01", Plain::Text),
            ("-.INF", Plain::Number),
            ("0X1F", Plain::Number),
            ("0o17", Plain::Number),
            ("0o18", Plain::Text),
            ("1E3", Plain::Number),
            ("-", Plain::Text),
            ("+", Plain::Text),
        ] {
            assert_eq!(Plain::of(text), means, "{text}");
        }
    }
}
