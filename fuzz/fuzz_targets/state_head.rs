//! A head from a damaged disk or a foreign bucket is read or refused, never more.
#![no_main]

use letterpress::state::Head;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    if let Ok(head) = Head::decode(data) {
        assert!(Head::decode(&head.encode()).is_ok());
    }
});
