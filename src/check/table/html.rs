//! HTML and CSS: what mail clients break or drop.

super::rules! { "html":
ACTIVE_CONTENT "active-content" Error Default
    "script, iframe, object, embed, applet, event handlers, javascript: links, meta refresh"
    why "Every mail client removes it, and many filters take the whole mail for an attack. JSON-LD, which some mailboxes read, is fine. Of one tag the first 1,000 attributes are looked at, and one that has more could hide anything behind them."
    wrong "<a href=\"javascript:pay()\" onclick=\"pay()\">Pay</a>"
    right "<a href=\"https://example.com/pay\">Pay</a>"
    source "caniemail.com, html-script"
CONDITIONAL_COMMENT_BROKEN "conditional-comment-broken" Error Default
    "an `[if mso]` without `[endif]` or with a comment inside, or a comment that never ends"
    why "Outlook, or everybody, loses the rest of the mail. A comment inside of a conditional one ends it for everybody but Outlook, who then see what was for Outlook only."
    wrong "<!--[if mso]><table><tr><td>-->"
    right "<!--[if mso]><table><tr><td><![endif]-->"
    source "Microsoft, conditional comments"
GMAIL_CLIP "gmail-clip" Warn Default
    "html over 104,448 bytes; a note from 80 KB on"
    why "Gmail cuts a mail there and shows a link to the rest. The unsubscribe link and the tracking pixel are at the end."
    wrong "a body.html of 120 KB"
    right "a body.html of 60 KB: shorter, or without inlined styles and pictures"
    source "caniemail.com, Gmail clipping"
UNBALANCED_TAGS "unbalanced-tags" Warn Default
    "an element that is never closed, or closed without being open"
    why "Mail clients repair it each in their own way; tables fall apart in Outlook first. End tags that HTML lets one leave out are fine."
    wrong "<table><tr><td>One</td></tr></div>"
    right "<table><tr><td>One</td></tr></table>"
    source "HTML, optional tags"
DUPLICATE_ATTRIBUTE "duplicate-attribute" Warn Default
    "the same attribute twice in one tag, with different values"
    why "The second one is dropped, often a `style`."
    wrong "<td style=\"color:red\" style=\"padding:8px\">"
    right "<td style=\"color:red;padding:8px\">"
    source "HTML, duplicate-attribute"
DOCUMENT_HEAD "document-head" Warn Default
    "a whole document without doctype or without UTF-8 charset"
    why "Without a doctype, clients lay out as in 1998; without a charset, some show garbled letters. Fragments are left alone."
    wrong "<html><head><title>Hello</title></head>…"
    right "<!doctype html>\n<html><head><meta charset=\"utf-8\">…"
    source "caniemail.com, html-doctype"
FORM_OR_MEDIA "form-or-media" Warn Default
    "form controls, video, audio"
    why "Outlook and Gmail do not show or do not send them."
    wrong "<form action=\"https://example.com\"><input name=\"q\"></form>"
    right "<a href=\"https://example.com/search\">Search</a>"
    source "caniemail.com, html-form, html-video"
STYLE_OVER_16K "style-over-16k" Warn Default
    "style blocks of more than 16 KB together"
    why "Gmail drops style blocks beyond 16 KB."
    wrong "<style> (20 KB) </style>"
    right "<style> (8 KB) </style>"
    source "caniemail.com, html-style"
CSS_NESTED_AT "css-nested-at" Warn Default
    "an at-rule within another, in a style block that also has other rules"
    why "Gmail drops the whole style block. In a block of its own it harms nobody."
    wrong "<style>.a{color:red}@media screen{@media (min-width:1px){.b{color:red}}}</style>"
    right "<style>.a{color:red}</style><style>@media screen{@media (min-width:1px){.b{color:red}}}</style>"
    source "caniemail.com, css-at-media"
CSS_DOUBLE_BRACE "css-double-brace" Warn Default fix
    "`}}` in a style block"
    why "Here a lone `}}` never ends a tag, and yet template engines on the way (a preview, another service) take it for one. A blank between the braces costs nothing."
    wrong "<style>@media print{.a{color:red}}</style>"
    right "<style>@media print{.a{color:red} }</style>"
    source "silent.md, merge-tag syntax"
CSS_SYNTAX "css-syntax" Warn Default
    "braces, comments or strings in a style block that do not close"
    why "Everything after it is lost, and in Gmail the whole block."
    wrong "<style>.a{color:red</style>"
    right "<style>.a{color:red}</style>"
    source "CSS Syntax §5"
CSS_UNSUPPORTED "css-unsupported" Warn Default
    "flex, grid, fixed or sticky positions and CSS variables outside of @media and @supports"
    why "Outlook and Gmail drop them, and the layout falls back to something else. As an enhancement inside of @media or @supports they are fine."
    wrong "<div style=\"display:flex\">"
    right "<table role=\"presentation\"><tr><td>"
    source "caniemail.com, css-display-flex"
}
