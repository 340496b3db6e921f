//! An html body under the eyes of every subject at once.

use std::ops::Range;

use super::active::Active;
use super::css::Css;
use super::findings::Findings;
use super::images::Images;
use super::links::Links;
use super::markup::{Subject, Tag};
use super::rare::Rare;
use super::structure::Structure;
use super::wording::Wording;
use crate::desired::tags::Engine;
use crate::source::{Folder, Text};

/// Everything that looks at an html body.
#[derive(Debug)]
pub struct Body {
    structure: Structure,
    active: Active,
    css: Css,
    images: Images,
    links: Links,
    wording: Wording,
}

impl Body {
    /// To look at a body that has these rare words, and in which these merge tags start, with or without deriving a plain text.
    #[must_use]
    pub fn new(rare: Rare, tags: Vec<usize>, derive: bool, findings: &Findings<'_>) -> Self {
        Self {
            structure: Structure::default(),
            active: Active::default(),
            css: Css::new(rare, findings),
            images: Images::new(rare),
            links: Links::new(findings),
            wording: Wording::new(rare, tags, derive, findings),
        }
    }

    /// Reports what was seen; hands out what the plain text is compared with.
    pub fn report(self, html: &Text, folder: &Folder, engine: Engine, findings: &mut Findings<'_>) -> (Links, Wording) {
        self.structure.report(html, findings);
        self.active.report(html, findings);
        self.css.report(html, findings);
        self.images.report(html, folder, findings);
        self.links.report(html, engine == Engine::Simple, findings);
        self.wording.report(html, findings);
        (self.links, self.wording)
    }
}

impl Subject for Body {
    fn start(&mut self, name: &str, span: &Range<usize>) {
        self.structure.start(name, span);
        self.links.start(name, span);
        self.wording.start(name, span);
    }

    fn attributes(&mut self, tag: &Tag<'_>) -> bool {
        // Each of them looks, whatever the others saw.
        self.structure.attributes(tag)
            | self.active.attributes(tag)
            | self.css.attributes(tag)
            | self.images.attributes(tag)
            | self.links.attributes(tag)
            | self.wording.attributes(tag)
    }

    fn end(&mut self, name: &str, span: &Range<usize>) {
        self.structure.end(name, span);
        self.links.end(name, span);
        self.wording.end(name, span);
    }

    fn text(&mut self, text: &str, span: &Range<usize>, raw: &str) {
        self.structure.text(text, span, raw);
        self.css.text(text, span, raw);
        self.images.text(text, span, raw);
        self.links.text(text, span, raw);
        self.wording.text(text, span, raw);
    }

    fn comment(&mut self, content: &str, span: &Range<usize>) {
        self.structure.comment(content, span);
        self.css.comment(content, span);
        self.images.comment(content, span);
        self.wording.comment(content, span);
    }

    fn doctype(&mut self, span: &Range<usize>) {
        self.structure.doctype(span);
    }

    fn unterminated_comment(&mut self, at: usize) {
        self.structure.unterminated_comment(at);
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Levels, markup};
    use super::*;
    use crate::diagnostic::Profile;
    use crate::source::Config;

    /// Looks at every tag again, however often it was there.
    struct Again(Body);

    impl Subject for Again {
        fn start(&mut self, name: &str, span: &Range<usize>) {
            self.0.start(name, span);
        }
        fn attributes(&mut self, tag: &Tag<'_>) -> bool {
            self.0.attributes(tag);
            true
        }
        fn end(&mut self, name: &str, span: &Range<usize>) {
            self.0.end(name, span);
        }
        fn text(&mut self, text: &str, span: &Range<usize>, raw: &str) {
            self.0.text(text, span, raw);
        }
        fn comment(&mut self, content: &str, span: &Range<usize>) {
            self.0.comment(content, span);
        }
        fn doctype(&mut self, span: &Range<usize>) {
            self.0.doctype(span);
        }
        fn unterminated_comment(&mut self, at: usize) {
            self.0.unterminated_comment(at);
        }
    }

    /// Tags of which every subject sees something, and some in which nobody does.
    const PIECES: [&str; 40] = [
        "<td>",
        "<td align=\"left\">",
        "<td style=\"color:red\">",
        "<td style=\"font-size:10px\">",
        "<td style=\"max-width:10px\">",
        "<td style=\"display:flex\">",
        "<td style=\"width:var(--w)\">",
        "<td style=\"background:url(cid:a.png)\">",
        "<td style=\"background:url(&#99;id:a.png)\">",
        "<td background=\"a.png\">",
        "<td role=\"heading\">",
        "<td a=1 a=2>",
        "<td title=\"a>b\">",
        "<TD ALIGN=left>",
        "<td onclick=\"x()\">",
        "</td>",
        "<table>",
        "<table role=\"presentation\">",
        "<th scope=col>",
        "</table>",
        "<p>",
        "<p style=\"display:none\">",
        "<p class=\"preheader\">",
        "</p>",
        "<a href=\"https://example.com/a?b={{c|d}}\">",
        "<a href=\"#\">",
        "<a>",
        "</a>",
        "<span aria-label=\"x\">",
        "<svg>",
        "<img src=\"cid:b.png\">",
        "<img alt=\"x\" src=\"http://example.com/x.webp\">",
        "<meta charset=utf-8>",
        "<h1>",
        "<form>",
        "<br>",
        "{{name}} words",
        " ",
        "<style>@media x{@media y{a{}}}b{}</style>",
        "<!--[if mso]>",
    ];

    proptest::proptest! {
        #[test]
        fn a_tag_that_is_passed_over_would_have_changed_nothing(
            pieces in proptest::collection::vec(proptest::sample::select(&PIECES[..]), 0..60),
            strict: bool,
            derive: bool,
        ) {
            let html = pieces.concat();
            let config = Config::read(Text::empty("letterpress.toml".to_owned())).unwrap();
            let profile = if strict { Profile::Strict } else { Profile::Default };
            let levels = Levels::new(profile, &config).0;
            let findings = Findings::new(&levels);
            let tags: Vec<usize> = html.match_indices("{{").map(|(at, _)| at).collect();
            let new = || Body::new(Rare::of(&html), tags.clone(), derive, &findings);
            let (mut body, mut again) = (new(), Again(new()));
            markup::read(&html, true, &mut body);
            markup::read(&html, true, &mut again);
            assert_eq!(format!("{body:?}"), format!("{:?}", again.0), "{html}");
        }
    }
}
