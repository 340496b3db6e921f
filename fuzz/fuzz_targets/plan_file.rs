//! A plan file from a stranger is read or refused, never more; one that is read is written again as it was.
#![no_main]

use letterpress::plan::PlanFile;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    if let Ok(file) = PlanFile::read(data) {
        let again = file.to_json().expect("a plan that was read can be written");
        assert!(PlanFile::read(&again).is_ok());
    }
});
