//! Merge tags (`interface §2.5`, silent.md).

super::rules! { "tags":
TAG_MALFORMED "tag-malformed" Error Default
    "a `{{` that never closes, an empty tag, or a name that cannot be one"
    why "The service substitutes nothing there, so the recipient reads the braces. A lone `}}` is fine: minified CSS is full of them."
    wrong "Hello {{first name}}, {{company"
    right "Hello {{first_name}}, {{company}}"
    source "interface §2.5"
TAG_WHITESPACE "tag-whitespace" Warn Default fix
    "blanks inside the braces"
    why "The syntax has no blanks; `{{ name }}` may be sent as it stands."
    wrong "Hello {{ first_name }}"
    right "Hello {{first_name}}"
    source "interface §2.5, silent.md"
FOREIGN_SYNTAX "foreign-syntax" Warn Default
    "tags of another engine"
    why "The simple engine knows names, defaults and conditions. What other services write as `{{#if}}`, `*|NAME|*` or `{% %}` would reach the recipient as it stands. Of a mail with such tags whose manifest declares no name, blanks, undeclared names and parity are not reported besides: they follow from it."
    wrong "{{#if name}}Hello {{name}}{{/if}} *|COMPANY|*"
    right "{{name?Hello {{name}}}} {{company}}"
    source "interface §2.5, silent.md"
TAG_IN_LINK_OPERATOR "tag-in-link-operator" Warn Default
    "a tag with a default or a condition inside href or src"
    why "Click tracking rewrites links, and `|` and `?` mean something else in an address: the link breaks for those whose value is missing."
    wrong "<a href=\"https://example.com/{{path|home}}\">Go</a>"
    right "<a href=\"{{link}}\">Go</a>"
    source "silent.md"
TAG_IN_LITERAL_FIELD "tag-in-literal-field" Warn Default
    "a tag where the service substitutes nothing"
    why "Tags work in the bodies, the subject and the sender's name only."
    wrong "global_info: { team: \"{{team}}\" }\n"
    right "global_info: { team: growth }\n"
    source "interface §2.5"
TAG_UNDECLARED "tag-undeclared" Warn Default
    "a tag that is neither in global_replacements nor in variables nor known to the service"
    why "It is misspelt, or nobody will know that the sender must bring it; its place stays empty. Each name is reported once. It is a note where the manifest declares nothing at all, and silent where such a mail is written for another engine: that is `foreign-syntax`."
    wrong "subject: \"Hello {{frist_name}}\"\nvariables: [first_name]\n"
    right "subject: \"Hello {{first_name}}\"\nvariables: [first_name]\n"
    source "interface §2.5"
REPLACEMENT_UNUSED "replacement-unused" Warn Default
    "declared in the manifest and never used"
    why "It is left over, or the tag that should use it is misspelt."
    wrong "variables: [first_name]\n# and no {{first_name}} anywhere\n"
    right "variables: [first_name]\nsubject: \"Hello {{first_name}}\"\n"
    source "interface §2.5"
TAG_PARITY "tag-parity" Warn Default
    "a recipient's value that only one of html, plaintext and AMP shows"
    why "Whoever reads the other part misses it. Names with a value in `global_replacements`, and those inside links, do not count."
    wrong "# body.html\nYour code is {{code}}\n# body.txt\nYour code is in the HTML part.\n"
    right "# body.txt\nYour code is {{code}}\n"
    source "RFC 2046 §5.1.4"
AMP_MUSTACHE_COLLISION "amp-mustache-collision" Warn Default
    "`{{x}}` inside <template type=\"amp-mustache\">"
    why "AMP fills its templates in the reader's mail client with the same braces; the service may have replaced or emptied them before."
    wrong "<template type=\"amp-mustache\">{{price}}</template>"
    right "headers: { X-SVC-Template-Engine: velocity } # and AMP keeps its braces\n"
    source "amp.dev, amp-mustache"
}
