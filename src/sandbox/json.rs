//! JSON as it was sent: nothing merged, nothing converted.
//!
//! `serde_json` alone would let the last of two equal keys win; a judge must see both.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::error::Category;

use super::fields::shown;
use super::refusal::{DUPLICATE_KEY, NOT_JSON, Refusal};

/// One JSON value. Strings without escapes borrow from the request, so that a large attachment is not copied.
#[derive(Debug, Clone, PartialEq)]
pub enum Json<'a> {
    /// `null`
    Null,
    /// `true`, `false`
    Bool(bool),
    /// A whole number that fits.
    Integer(i64),
    /// Any other number.
    Float,
    /// A string.
    Text(Cow<'a, str>),
    /// An array.
    List(Vec<Json<'a>>),
    /// An object in the order of the request; keys are unique.
    Map(Vec<(Cow<'a, str>, Json<'a>)>),
}

impl Json<'_> {
    /// The type's name with its article, for messages.
    pub fn what(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "a boolean",
            Self::Integer(_) => "an integer",
            Self::Float => "a number that is no integer",
            Self::Text(_) => "a string",
            Self::List(_) => "an array",
            Self::Map(_) => "an object",
        }
    }
}

/// Reads a whole body. Nesting is bounded by the parser (128 levels).
pub fn parse(body: &[u8]) -> Result<Json<'_>, Refusal> {
    let text = std::str::from_utf8(body).map_err(|error| {
        Refusal::new(
            &NOT_JSON,
            format!("the body is not UTF-8: the first wrong byte is at offset {}", error.valid_up_to()),
        )
    })?;
    serde_json::from_str(text).map_err(|error| match error.classify() {
        // The visitor below takes every value, so the only thing that it objects to is a repeated key.
        Category::Data => Refusal::new(&DUPLICATE_KEY, error.to_string()),
        _ => Refusal::new(&NOT_JSON, format!("the body is not JSON: {error}")),
    })
}

impl<'de: 'a, 'a> Deserialize<'de> for Json<'a> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Tree)
    }
}

struct Tree;

impl<'de> Visitor<'de> for Tree {
    type Value = Json<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Json<'de>, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Json<'de>, E> {
        Ok(Json::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Json<'de>, E> {
        Ok(Json::Integer(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Json<'de>, E> {
        Ok(i64::try_from(value).map_or(Json::Float, Json::Integer))
    }

    fn visit_f64<E>(self, _: f64) -> Result<Json<'de>, E> {
        Ok(Json::Float)
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Json<'de>, E> {
        Ok(Json::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Json<'de>, E> {
        Ok(Json::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_string<E>(self, text: String) -> Result<Json<'de>, E> {
        Ok(Json::Text(Cow::Owned(text)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Json<'de>, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Json::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Json<'de>, A::Error> {
        let mut map: Vec<(Cow<'de, str>, Json<'de>)> = Vec::new();
        let mut seen = HashSet::new();
        while let Some((key, value)) = entries.next_entry::<Json<'de>, Json<'de>>()? {
            let Json::Text(key) = key else {
                return Err(A::Error::custom("a key is not a string"));
            };
            if !seen.insert(key.clone()) {
                return Err(A::Error::custom(format_args!("the key {:?} is there twice", shown(&key))));
            }
            map.push((key, value));
        }
        Ok(Json::Map(map))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repeated_key_is_refused_at_any_depth_also_when_it_is_escaped() {
        let refusal = parse(br#"{"a":[{"b":1,"\u0062":2}]}"#).unwrap_err();
        assert_eq!(refusal.kind, &DUPLICATE_KEY);
        assert!(refusal.message.starts_with(r#"the key "b" is there twice"#), "{}", refusal.message);
    }

    #[test]
    fn what_is_not_json_is_refused() {
        let deep = "[".repeat(100_000);
        let bodies: [&[u8]; 7] = [b"", b"{", b"{} {}", b"\"\xff\"", b"\"\\ud800\"", b"nul", deep.as_bytes()];
        for body in bodies {
            assert_eq!(parse(body).unwrap_err().kind, &NOT_JSON);
        }
    }

    #[test]
    fn numbers_keep_their_kind() {
        assert_eq!(parse(b"1").unwrap(), Json::Integer(1));
        for float in ["1.0", "1e2", "18446744073709551615"] {
            assert_eq!(parse(float.as_bytes()).unwrap(), Json::Float);
        }
    }
}
