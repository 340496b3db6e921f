//! A head from a damaged disk or a foreign bucket, also one with a good digest, is read or refused, never more; one that is read is written
//! again as it was, and its log can be replayed.
#![no_main]

use letterpress::desired::Digest;
use letterpress::state::{Head, replay};
use libfuzzer_sys::fuzz_target;

fn look(data: &[u8]) {
    if let Ok(head) = Head::decode(data) {
        let again = Head::decode(&head.encode()).expect("what was read can be written");
        assert!(again.encode() == head.encode());
        let _ = replay(&head, None).map_err(|error| error.to_string());
    }
}

fuzz_target!(|data: &[u8]| {
    look(data);
    let sealed = format!("\n],\"digest\":\"{}\"}}\n", Digest::of(data));
    look(&[data, sealed.as_bytes()].concat());
});
