//! Images and links.

super::rules! { "images":
IMG_RELATIVE "img-relative" Error Default fix
    "an image with a relative or empty src"
    why "A mail has no folder beside it, so the picture is broken for everybody. With the file in the template's folder, `--fix` makes it an inline attachment."
    wrong "<img src=\"logo.png\" alt=\"Logo\">"
    right "<img src=\"cid:logo.png\" alt=\"Logo\">"
    source "RFC 2392"
CID_MISSING "cid-missing" Error Default
    "a cid: that no inline attachment has"
    why "The picture is broken for everybody."
    wrong "<img src=\"cid:lgo.png\" alt=\"Logo\">"
    right "<img src=\"cid:logo.png\" alt=\"Logo\">"
    source "interface §2.5"
INLINE_UNUSED "inline-unused" Warn Default
    "an inline attachment that the html never shows"
    why "It makes the mail larger, and some clients list it as an attachment."
    wrong "inline_attachments: [{ path: old.png }]\n# and no cid:old.png in body.html\n"
    right "inline_attachments: []\n"
    source "interface §2.5"
IMG_ALT_MISSING "img-alt-missing" Warn Default
    "an image without alt"
    why "Many clients show no pictures at first, and screen readers read the file's name. `alt=\"\"` is right for decoration."
    wrong "<img src=\"https://example.com/a.png\">"
    right "<img src=\"https://example.com/a.png\" alt=\"Our office\">"
    source "WCAG 2.2, 1.1.1"
IMG_HTTP "img-http" Warn Default
    "an image over http:"
    why "Clients that fetch pictures over their own secure pages show a warning or nothing."
    wrong "<img src=\"http://example.com/a.png\" alt=\"\">"
    right "<img src=\"https://example.com/a.png\" alt=\"\">"
    source "W3C, Mixed Content"
IMG_FORMAT "img-format" Warn Default
    "a data: address, svg, webp or avif"
    why "Outlook shows none of them, and Gmail neither data: addresses nor svg."
    wrong "<img src=\"https://example.com/logo.svg\" alt=\"Logo\">"
    right "<img src=\"https://example.com/logo.png\" alt=\"Logo\">"
    source "caniemail.com, image-svg"
LINK_RELATIVE "link-relative" Error Default
    "a link that is relative, or leads to localhost, a file, a private address or a host without a dot"
    why "It works on nobody's machine but the author's."
    wrong "<a href=\"/account\">Account</a>"
    right "<a href=\"https://example.com/account\">Account</a>"
    source "RFC 3986 §4.2"
LINK_EMPTY "link-empty" Warn Default
    "a link to `#`, to nothing, or to `https://` and no host"
    why "It is a placeholder that was forgotten. A mail with three of them and no other link is a design that nobody has wired up yet: there it is a note."
    wrong "<a href=\"#\">Account</a>"
    right "<a href=\"https://example.com/account\">Account</a>"
    source "WCAG 2.2, 2.4.4"
LINK_NO_TEXT "link-no-text" Warn Default
    "a link without text, and without an image that has an alt"
    why "A screen reader reads the address instead, and with pictures off there is nothing to click."
    wrong "<a href=\"https://example.com\"><img src=\"cid:logo.png\" alt=\"\"></a>"
    right "<a href=\"https://example.com\"><img src=\"cid:logo.png\" alt=\"Example\"></a>"
    source "WCAG 2.2, 2.4.4"
PLACEHOLDER_LEFT "placeholder-left" Warn Default
    "lorem ipsum, TODO: or FIXME in a text or the subject"
    why "It was meant to be replaced."
    wrong "<p>Lorem ipsum dolor sit amet</p>"
    right "<p>Your order is on its way.</p>"
    source "product.md"
}
