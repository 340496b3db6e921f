//! The plain-text part and the subject.

super::rules! { "text":
PLAINTEXT_MISSING "plaintext-missing" Warn Default fix
    "an html body without a plaintext body"
    why "Some people, watches and filters read only text; a mail without it looks like spam to filters. `--fix` derives one from the html."
    wrong "a folder with body.html only"
    right "a folder with body.html and body.txt"
    source "RFC 2046 §5.1.4"
PLAINTEXT_QUALITY "plaintext-quality" Warn Default
    "markup in the plaintext body, or none of the few links that the html has"
    why "The reader sees the markup, or is told to follow a link that is not there. A mail with more than ten links may summarise."
    wrong "<p>Reset your password</p>"
    right "Reset your password: https://example.com/reset?t={{token}}"
    source "RFC 2046 §5.1.4"
SUBJECT_QUALITY "subject-quality" Warn Default
    "a subject that is empty, over 150 characters, not trimmed, or has bidirectional controls"
    why "Clients cut long subjects; blanks at the ends and direction controls are marks of spam."
    wrong "subject: \" Hello \"\n"
    right "subject: Hello\n"
    source "interface §2.5"
}
