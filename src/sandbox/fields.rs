//! Reading the fields of a request one by one, with their paths, so that a refusal can say where it looked.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::json::Json;
use super::refusal::{BAD_VALUE, MISSING_FIELD, OVER_LIMIT, Refusal, UNKNOWN_FIELD, WRONG_TYPE};

/// What happens to fields that the interface does not name, and what the service ignored so far.
#[derive(Debug, Default)]
pub struct Notes {
    /// Refuse instead of ignoring.
    pub strict: bool,
    /// One sentence per thing that was ignored.
    pub ignored: Vec<String>,
}

/// An object of the request, whose fields are taken out one by one.
pub struct Fields<'a> {
    path: String,
    entries: Vec<(Cow<'a, str>, Json<'a>)>,
}

impl<'a> Fields<'a> {
    /// The request itself, which must be an object.
    pub fn of_request(json: Json<'a>) -> Result<Self, Refusal> {
        match json {
            Json::Map(entries) => Ok(Self { path: String::new(), entries }),
            other => Err(Refusal::new(&WRONG_TYPE, format!("the body is {}, not an object", other.what()))),
        }
    }

    /// An element of an array.
    pub fn of_item(json: Json<'a>, path: String) -> Result<Self, Refusal> {
        match json {
            Json::Map(entries) => Ok(Self { path, entries }),
            other => Err(wrong_type(&path, &other, "an object")),
        }
    }

    /// The path of a field, as messages name it.
    pub fn path(&self, name: &str) -> String {
        if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) }
    }

    /// Takes a field out. `null` counts as absent.
    fn take(&mut self, name: &str) -> Option<Json<'a>> {
        let at = self.entries.iter().position(|(key, _)| key == name)?;
        Some(self.entries.swap_remove(at).1).filter(|value| *value != Json::Null)
    }

    /// An optional string.
    pub fn text(&mut self, name: &str) -> Result<Option<String>, Refusal> {
        match self.take(name) {
            None => Ok(None),
            Some(Json::Text(text)) => Ok(Some(text.into_owned())),
            Some(other) => Err(wrong_type(&self.path(name), &other, "a string")),
        }
    }

    /// A string that must be there.
    pub fn required_text(&mut self, name: &str) -> Result<String, Refusal> {
        self.text(name)?.ok_or_else(|| self.missing(name))
    }

    /// An optional integer.
    pub fn integer(&mut self, name: &str) -> Result<Option<i64>, Refusal> {
        match self.take(name) {
            None => Ok(None),
            Some(Json::Integer(number)) => Ok(Some(number)),
            Some(other) => Err(wrong_type(&self.path(name), &other, "an integer")),
        }
    }

    /// An optional object.
    pub fn object(&mut self, name: &str) -> Result<Option<Fields<'a>>, Refusal> {
        let path = self.path(name);
        match self.take(name) {
            None => Ok(None),
            Some(Json::Map(entries)) => Ok(Some(Self { path, entries })),
            Some(other) => Err(wrong_type(&path, &other, "an object")),
        }
    }

    /// An object that must be there.
    pub fn required_object(&mut self, name: &str) -> Result<Fields<'a>, Refusal> {
        self.object(name)?.ok_or_else(|| self.missing(name))
    }

    /// An optional object of strings.
    pub fn map(&mut self, name: &str) -> Result<Option<BTreeMap<String, String>>, Refusal> {
        let Some(fields) = self.object(name)? else { return Ok(None) };
        let mut map = BTreeMap::new();
        for (key, value) in fields.entries {
            let Json::Text(text) = value else {
                return Err(wrong_type(&format!("{}.{}", fields.path, shown(&key)), &value, "a string"));
            };
            map.insert(key.into_owned(), text.into_owned());
        }
        Ok(Some(map))
    }

    /// An optional array of objects.
    pub fn objects(&mut self, name: &str) -> Result<Option<Vec<Fields<'a>>>, Refusal> {
        let path = self.path(name);
        match self.take(name) {
            None => Ok(None),
            Some(Json::List(items)) => items
                .into_iter()
                .enumerate()
                .map(|(at, item)| Self::of_item(item, format!("{path}[{at}]")))
                .collect::<Result<_, _>>()
                .map(Some),
            Some(other) => Err(wrong_type(&path, &other, "an array")),
        }
    }

    /// Ends the reading: what was not taken out is not known.
    pub fn finish(self, notes: &mut Notes) -> Result<(), Refusal> {
        for (name, _) in &self.entries {
            let path = self.path(&shown(name));
            if notes.strict {
                return Err(Refusal::new(&UNKNOWN_FIELD, format!("`{path}` is not a field of this request")));
            }
            notes.ignored.push(format!("unknown field `{path}`"));
        }
        Ok(())
    }

    fn missing(&self, name: &str) -> Refusal {
        Refusal::new(&MISSING_FIELD, format!("`{}` is missing", self.path(name)))
    }
}

fn wrong_type(path: &str, found: &Json<'_>, wanted: &str) -> Refusal {
    Refusal::new(&WRONG_TYPE, format!("`{path}` is {}, not {wanted}", found.what()))
}

/// A value that is not allowed.
pub fn bad_value(path: &str, why: impl std::fmt::Display) -> Refusal {
    Refusal::new(&BAD_VALUE, format!("`{path}` {why}"))
}

/// Refuses when `actual` is more than `allowed`.
pub fn at_most(path: &str, unit: &str, actual: usize, allowed: usize) -> Result<(), Refusal> {
    if actual <= allowed {
        return Ok(());
    }
    Err(Refusal::new(&OVER_LIMIT, format!("`{path}` has {actual} {unit}, at most {allowed} are allowed")))
}

/// A foreign name, short enough for a message.
pub fn shown(text: &str) -> String {
    if text.chars().count() <= 80 {
        return text.to_owned();
    }
    text.chars().take(79).chain(['…']).collect()
}
