//! The API key: a header on the way out, never a word in what comes back (safety P7).

use reqwest::header::HeaderValue;
use secrecy::{ExposeSecret as _, SecretString};

/// Keys shorter than this are cut out of words only: as bytes they would appear in data by accident.
const DATA_BYTES: usize = 8;

const MASK: &str = "[API key]";

/// The key of a client.
pub(super) struct ApiKey(SecretString);

impl ApiKey {
    pub(super) fn new(key: SecretString) -> Self {
        Self(key)
    }

    /// The value of `X-API-KEY`, marked as sensitive; `None` when the key cannot be a header.
    pub(super) fn header(&self) -> Option<HeaderValue> {
        let key = self.0.expose_secret();
        if key.is_empty() || !key.bytes().all(|byte| byte.is_ascii_graphic()) {
            return None;
        }
        let mut value = HeaderValue::from_str(key).ok()?;
        value.set_sensitive(true);
        Some(value)
    }

    /// Words of a server or a library without the key, should they repeat it.
    pub(super) fn mask(&self, words: &str) -> String {
        words.replace(self.0.expose_secret(), MASK)
    }

    /// An answer's bytes without the key.
    pub(super) fn mask_data(&self, data: Vec<u8>) -> Vec<u8> {
        let key = self.0.expose_secret().as_bytes();
        if key.len() < DATA_BYTES || !data.windows(key.len()).any(|window| window == key) {
            return data;
        }
        let mut clean = Vec::with_capacity(data.len());
        let mut rest = &data[..];
        while !rest.is_empty() {
            if rest.starts_with(key) {
                clean.extend_from_slice(MASK.as_bytes());
                rest = &rest[key.len()..];
            } else {
                clean.push(rest[0]);
                rest = &rest[1..];
            }
        }
        clean
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_echo_of_the_key_is_cut_out() {
        let key = ApiKey::new("canary-1234".into());
        assert_eq!(key.mask("no such key: canary-1234."), "no such key: [API key].");
        assert_eq!(key.mask_data(b"<canary-1234><canary-123>".to_vec()), b"<[API key]><canary-123>");
    }

    #[test]
    fn a_key_that_cannot_be_a_header_is_found_out() {
        assert!(ApiKey::new("two\nlines".into()).header().is_none());
        assert!(ApiKey::new("".into()).header().is_none());
        assert!(ApiKey::new("canary-1234".into()).header().unwrap().is_sensitive());
    }
}
