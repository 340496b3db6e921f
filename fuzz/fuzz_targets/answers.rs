//! Whatever a server answers is read or refused, never more.
#![no_main]

use letterpress::wire;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let _ = serde_json::from_slice::<wire::TemplateAnswer>(data);
    let _ = serde_json::from_slice::<wire::SystemInfo>(data);
    let _ = serde_json::from_slice::<wire::SuppressionListAnswer>(data);
    let _ = serde_json::from_slice::<wire::ErrorAnswer>(data);
    let _ = serde_json::from_slice::<wire::StatusAnswer>(data);
});
