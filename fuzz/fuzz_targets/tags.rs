//! Merge tags of every engine: spans lie within the text and on its character boundaries.
#![no_main]

use letterpress::desired::tags;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let parsed = tags::simple(text);
    for tag in &parsed.tags {
        assert_eq!(text.get(tag.name_span.clone()), Some(tag.name));
        assert!(text.get(tag.span.clone()).is_some_and(|tag| tag.starts_with("{{") && tag.ends_with("}}")));
    }
    let flaws = parsed.flaws.into_iter().chain(tags::liquid(text)).chain(tags::velocity(text));
    for flaw in flaws {
        assert!(text.get(flaw.span.clone()).is_some(), "{flaw:?}");
    }
    for (_, span) in parsed.foreign {
        assert!(text.get(span).is_some());
    }
    for outside in tags::outside_braces(text) {
        assert!(text.get(outside.first).is_some() && outside.count > 0);
    }
});
