//! The AMP part: checked as data, only when there is one. Where Google's validator says PASS, nothing here is an error.

super::rules! { "amp":
AMP_SKELETON "amp-skeleton" Error Default
    "one of the parts that every AMP mail must have is missing"
    why "Clients show the html part instead when the doctype, `<html ⚡4email>`, head, charset, runtime or boilerplate is missing."
    wrong "<html><body>Hello</body></html>"
    right "<!doctype html><html ⚡4email data-css-strict><head><meta charset=\"utf-8\"><script async src=\"https://cdn.ampproject.org/v0.js\"></script><style amp4email-boilerplate>body{visibility:hidden}</style></head><body>Hello</body></html>"
    source "amp.dev, AMP for Email spec"
AMP_SIZE "amp-size" Error Default
    "over 200,000 bytes; amp-custom over 75,000; an inline style over 1,000"
    why "Clients show the html part instead."
    wrong "a body.amp.html of 300 KB"
    right "a body.amp.html of 100 KB"
    source "amp.dev, AMP for Email spec"
AMP_DISALLOWED "amp-disallowed" Error Default
    "an element or attribute that AMP for Email does not allow, `!important`"
    why "One of them makes the whole part invalid, and clients show the html part instead."
    wrong "<img src=\"https://example.com/a.png\"> <p onclick=\"x()\">"
    right "<amp-img src=\"https://example.com/a.png\" width=\"10\" height=\"10\" alt=\"\"></amp-img>"
    source "amp.dev, AMP for Email spec"
AMP_EXTENSION "amp-extension" Error Default
    "an AMP component without its script, a script without its component, or one that mails cannot have"
    why "The part is invalid without the script of each component, and some scripts may not stand there for nothing."
    wrong "<amp-carousel>…</amp-carousel> without its script"
    right "<script async custom-element=\"amp-carousel\" src=\"https://cdn.ampproject.org/v0/amp-carousel-0.2.js\"></script>"
    source "amp.dev, AMP for Email components"
AMP_URL "amp-url" Error Default
    "pictures and data of the AMP part that are not absolute and https; links that lead nowhere in a mail (`#`, relative); warns of this machine's addresses"
    why "AMP for Email takes pictures and data only over https, and links only as whole addresses (https, http, mailto, tel)."
    wrong "<amp-img src=\"http://example.com/a.png\" width=\"1\" height=\"1\"></amp-img>"
    right "<amp-img src=\"https://example.com/a.png\" width=\"1\" height=\"1\"></amp-img>"
    source "amp.dev, AMP for Email spec"
AMP_CSS_STRICT "amp-css-strict" Info Default
    "`<html ⚡4email>` without `data-css-strict`"
    why "Newer clients check styles strictly, and the attribute makes the validator do so, too."
    wrong "<html ⚡4email>"
    right "<html ⚡4email data-css-strict>"
    source "amp.dev, strict CSS sanitisation"
}
