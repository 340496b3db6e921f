//! Every number that the service publishes, once (`interface §8` unless another section is named).
//!
//! Where the interface leaves a number open, the default and its reason stand beside it. The checks and the
//! sandbox both read this file, and nothing else of ours is shared between them but [`crate::wire`].

/// Largest request body of the template call, in bytes as serialized (10 MB, read as 10 × 1,048,576).
pub const REQUEST_BYTES: u64 = 10_485_760;

/// From here on a request is an error should the service read "10 MB" as 10,000,000 bytes: we warn.
pub const REQUEST_BYTES_CAUTIOUS: u64 = 10_000_000;

/// Templates that one account may hold.
pub const TEMPLATES: usize = 10_000;

/// Largest attachment in base64 characters.
pub const ATTACHMENT_BASE64: u64 = 9_786_710;

/// Largest attachment in raw bytes: the largest file whose padded base64 stays within [`ATTACHMENT_BASE64`]
/// and that is within 7 × 1,048,576 bytes; both readings of "7 MB" hold.
pub const ATTACHMENT_BYTES: u64 = 7_340_031;

/// Longest attachment name in bytes. Not shown by the interface; the limit of common file systems.
pub const ATTACHMENT_NAME_BYTES: usize = 255;

/// Headers of one template.
pub const HEADERS: usize = 50;

/// Only headers whose name starts with this (without regard to case) reach the recipient (`interface §2.5`).
pub const HEADER_PREFIX: &str = "X-";

/// Keys in `global_info`.
pub const INFO_KEYS: usize = 10;

/// Longest `global_info` key, in symbols (Unicode scalar values).
pub const INFO_KEY_SYMBOLS: usize = 64;

/// Longest `global_info` value, in symbols (Unicode scalar values).
pub const INFO_VALUE_SYMBOLS: usize = 1_024;

/// Total of `global_info` in bytes from which similar services refuse; not shown by the interface: a warning.
pub const INFO_TOTAL_BYTES: usize = 4_000;

/// Longest template name in bytes. Not shown by the interface.
pub const NAME_BYTES: usize = 255;

/// Longest email address in bytes (64 local, `@`, 255 domain).
pub const ADDRESS_BYTES: usize = 320;

/// Longest project id in ASCII characters (`interface §2.4`).
pub const PROJECT_ID_CHARS: usize = 36;

/// Records in one page of the suppression list when the request names no limit.
pub const PAGE_RECORDS: u32 = 50;

/// Deletes of suppressions in a day before the service answers 906. Not shown; the sandbox's default.
pub const DELETES_PER_DAY: u32 = 100;

/// Days between two renewal mails to one recipient (`interface §4.4`).
pub const SUBSCRIBE_DAYS: u32 = 1;

/// Largest manifest in bytes (safety P9: ours, not the service's).
pub const MANIFEST_BYTES: u64 = 262_144;

/// Deepest nesting of a manifest (safety P9: ours, not the service's).
pub const MANIFEST_DEPTH: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_readings_of_seven_megabytes_hold() {
        let base64 = |raw: u64| raw.div_ceil(3) * 4;
        let fits = |raw: u64| base64(raw) <= ATTACHMENT_BASE64 && raw <= 7 * 1_048_576;
        assert!(fits(ATTACHMENT_BYTES) && !fits(ATTACHMENT_BYTES + 1));
    }
}
