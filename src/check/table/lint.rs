//! The checks themselves.

super::rules! { "lint":
ALLOW_INVALID "allow-invalid" Error Default
    "an allow of a rule that does not exist or cannot be allowed, or without a reason"
    why "An allow that silences nothing is believed to. What the service refuses cannot be allowed: the template could not be sent."
    wrong "lint: { allow: [{ rule: img-htpp, reason: partner }] }\n"
    right "lint: { allow: [{ rule: img-http, reason: \"partner logo has no https\" }] }\n"
    source "product.md, manifest.yaml"
ALLOW_UNUSED "allow-unused" Warn Default
    "an allow that silences nothing"
    why "The mistake it was for is gone, and the next one would pass unseen."
    wrong "<!-- letterpress-allow img-http: partner logo --> and no image over http:"
    right "(remove it)"
    source "product.md, manifest.yaml"
}
