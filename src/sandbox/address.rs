//! What counts as an email address.

use email_address::{EmailAddress, Options};

use super::fields::{at_most, bad_value};
use super::refusal::Refusal;
use crate::limits;

/// Refuses what is not a plain address (`local@domain`, no display name).
pub fn check(path: &str, text: &str) -> Result<(), Refusal> {
    at_most(path, "bytes", text.len(), limits::ADDRESS_BYTES)?;
    let options = Options::default().without_display_text().without_domain_literal();
    match EmailAddress::parse_with_options(text, options) {
        Ok(_) if !text.contains(char::is_control) => Ok(()),
        _ => Err(bad_value(path, "is not an email address")),
    }
}
