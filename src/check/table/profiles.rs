//! Rules that belong to a profile: they are noise on good templates, and right for a team that asks for them.

/// `--profile a11y`
pub mod a11y {
    crate::check::table::rules! { "a11y":
    LANG_MISSING "lang-missing" Warn A11y
        "a whole document without `lang` on `<html>`"
        why "Screen readers read it with the voice of another language."
        wrong "<html>"
        right "<html lang=\"en\">"
        source "WCAG 2.2, 3.1.1"
    LAYOUT_TABLE_ROLE "layout-table-role" Warn A11y
        "a layout table without role=\"presentation\""
        why "Screen readers announce rows and columns of every table that is not marked as layout. Tables with header cells are data."
        wrong "<table><tr><td>Hello</td></tr></table>"
        right "<table role=\"presentation\"><tr><td>Hello</td></tr></table>"
        source "WAI-ARIA, presentation"
    TITLE_MISSING "title-missing" Warn A11y
        "a whole document without a title"
        why "Screen readers and browser tabs read it first."
        wrong "<head><meta charset=\"utf-8\"></head>"
        right "<head><meta charset=\"utf-8\"><title>Your receipt</title></head>"
        source "WCAG 2.2, 2.4.2"
    HEADING_MISSING "heading-missing" Warn A11y
        "no heading at all"
        why "People who listen to a mail jump from heading to heading."
        wrong "<p style=\"font-size:24px\">Your receipt</p>"
        right "<h1>Your receipt</h1>"
        source "WCAG 2.2, 1.3.1"
    SMALL_FONT "small-font" Warn A11y
        "text smaller than 12 pixels"
        why "It cannot be read on a phone; some clients enlarge it and break the layout."
        wrong "<p style=\"font-size:9px\">Terms</p>"
        right "<p style=\"font-size:13px\">Terms</p>"
        source "WCAG 2.2, 1.4.4"
    }
}

/// `--profile strict`
pub mod strict {
    crate::check::table::rules! { "strict":
    PREHEADER_MISSING "preheader-missing" Warn Strict
        "no hidden text at the start of the body"
        why "The list of mails shows the first words after the subject; without a preheader those are `View in browser`."
        wrong "<body><a href=\"https://example.com/view\">View in browser</a>"
        right "<body><div style=\"display:none\">Your parcel arrives on Monday.</div>"
        source "caniemail.com"
    UNSUBSCRIBE_MISSING "unsubscribe-missing" Warn Strict
        "no way to unsubscribe in the html"
        why "Mail that people did not just ask for needs one; a transactional mail may do without."
        wrong "<p>Best wishes</p>"
        right "<a href=\"{{UnsubscribeUrl}}\">Unsubscribe</a>"
        source "RFC 8058"
    COLOR_SCHEME_MISSING "color-scheme-missing" Warn Strict
        "no color-scheme, as a meta element or in a style"
        why "Clients in dark mode then invert colours as they guess."
        wrong "<head></head>"
        right "<meta name=\"color-scheme\" content=\"light dark\">"
        source "CSS Color Adjust §2"
    VIEWPORT_MISSING "viewport-missing" Warn Strict
        "a whole document without a viewport"
        why "Some phones then show the mail as wide as a desktop."
        wrong "<head></head>"
        right "<meta name=\"viewport\" content=\"width=device-width\">"
        source "CSS Device Adaptation"
    WEB_FONT "web-font" Warn Strict
        "a font from the network"
        why "Outlook and Gmail do not load it, so the fallback is what most people see, and each load tells the font's host who reads."
        wrong "<style>@import url(https://fonts.example.com/a.css);</style>"
        right "font-family: Helvetica, Arial, sans-serif"
        source "caniemail.com, css-at-font-face"
    LINK_HTTP "link-http" Warn Strict
        "a link over http:"
        why "Some filters count it against the mail."
        wrong "<a href=\"http://example.com\">Example</a>"
        right "<a href=\"https://example.com\">Example</a>"
        source "W3C, Mixed Content"
    MSO_FALLBACK "mso-fallback" Warn Strict
        "max-width on a block, and no conditional comment for Outlook"
        why "Outlook ignores max-width and shows the block as wide as its window."
        wrong "<div style=\"max-width:600px\">"
        right "<!--[if mso]><table width=\"600\"><tr><td><![endif]--><div style=\"max-width:600px\">"
        source "caniemail.com, css-max-width"
    IMG_WIDTH_MISSING "img-width-missing" Warn Strict
        "an image without a width attribute"
        why "Outlook shows it in its own size, and the layout jumps while pictures load."
        wrong "<img src=\"https://example.com/a.png\" alt=\"\">"
        right "<img src=\"https://example.com/a.png\" alt=\"\" width=\"120\">"
        source "caniemail.com, html-width"
    }
}
