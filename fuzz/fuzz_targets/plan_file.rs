//! A plan file from a stranger, also one with a good digest, is read or refused, never more; one that is read is written again as it was
//! and holds against itself.
#![no_main]

use letterpress::plan::PlanFile;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let _ = PlanFile::read(data).map_err(|error| error.to_string());
    if let Ok(unsealed) = serde_json::from_slice::<PlanFile>(data) {
        let file = PlanFile::new(unsealed.plan().clone());
        let mut bytes = Vec::new();
        file.write(&mut bytes).expect("a plan can be written");
        let again = PlanFile::read(&bytes).expect("its digest is good");
        assert!(again == file);
        let _ = file.still_holds(again.plan(), &|_| true);
    }
});
