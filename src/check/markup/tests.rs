use super::*;

#[derive(Default)]
struct Log(Vec<String>);

impl Subject for Log {
    fn attributes(&mut self, tag: &Tag<'_>) -> bool {
        let attributes: Vec<String> =
            tag.attributes().map(|a| format!("{}={}@{:?}", a.name, a.value, a.span)).collect();
        self.0.push(format!("<{} {}>@{:?}", tag.name, attributes.join(" "), tag.span));
        for attribute in tag.attributes() {
            assert!(tag.has(attribute.name), "{}", attribute.name);
        }
        true
    }
    fn end(&mut self, name: &str, span: &Range<usize>) {
        self.0.push(format!("</{name}>@{span:?}"));
    }
    fn text(&mut self, text: &str, span: &Range<usize>, raw: &str) {
        self.0.push(format!("{raw}:{text}@{span:?}"));
    }
    fn comment(&mut self, content: &str, span: &Range<usize>) {
        self.0.push(format!("!{content}@{span:?}"));
    }
    fn doctype(&mut self, span: &Range<usize>) {
        self.0.push(format!("doctype@{span:?}"));
    }
    fn unterminated_comment(&mut self, _: usize) {
        self.0.push("unterminated".to_owned());
    }
}

fn log(html: &str) -> Vec<String> {
    let mut log = Log::default();
    read(html, true, &mut log);
    log.0
}

#[test]
fn events_have_exact_places() {
    assert_eq!(
        log("<A HREF=\"x&amp;y\" b c=''>é</a>"),
        ["<a href=x&y@9..16 b=@18..19 c=@20..21>@0..25", ":é@25..27", "</a>@27..31"]
    );
    assert_eq!(log("<style>a{}</style>t"), ["<style >@0..7", "style:a{}@7..10", "</style>@10..18", ":t@18..19"]);
}

#[test]
fn comments_of_every_kind() {
    assert_eq!(log("<!--[if mso]><p><![endif]-->"), ["![if mso]><p><![endif]@0..28"]);
    assert_eq!(log("<![if !mso]>a<![endif]>"), ["![if !mso]@0..12", ":a@12..13", "![endif]@13..23"]);
    assert!(log("a<!-- b").contains(&"unterminated".to_owned()));
    assert!(log("a<!-- é").contains(&"unterminated".to_owned()));
}

#[test]
fn a_tag_with_a_million_attributes_is_read_and_most_of_them_dropped() {
    let html = format!("<a {}>t", "x=1 ".repeat(ATTRIBUTES * 2));
    let log = log(&html);
    assert_eq!(log.len(), 2);
    assert_eq!(log[0].matches("x=1").count(), ATTRIBUTES);
}

/// The same events out of `html5gum`, a tokenizer that passes the tests of the standard.
mod oracle {
    use std::convert::Infallible;

    use html5gum::emitters::callback::{CallbackEmitter, CallbackEvent};
    use html5gum::{Span, Tokenizer};

    const RAW: [&str; 9] =
        ["style", "script", "title", "textarea", "noscript", "iframe", "xmp", "noembed", "plaintext"];

    pub fn log(html: &str) -> Vec<String> {
        let (mut log, mut attributes, mut tag) = (Vec::new(), Vec::new(), None);
        let mut raw = "";
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let mut emitter = CallbackEmitter::new(|event: CallbackEvent<'_>, span: Span<usize>| -> Option<Infallible> {
            let place = span.start..span.end;
            match event {
                CallbackEvent::OpenStartTag { name } => {
                    attributes.clear();
                    tag = Some((text(name), span.start));
                }
                CallbackEvent::AttributeName { name } if tag.is_some() => {
                    attributes.push((text(name), String::new(), place));
                }
                CallbackEvent::AttributeValue { value } if tag.is_some() => {
                    let last = attributes.last_mut().unwrap();
                    (last.1, last.2) = (text(value), place);
                }
                CallbackEvent::CloseStartTag { .. } => {
                    let (name, start) = tag.take().unwrap();
                    raw = RAW.into_iter().find(|raw| *raw == name).unwrap_or_default();
                    let list: Vec<String> =
                        attributes.iter().map(|(name, value, place)| format!("{name}={value}@{place:?}")).collect();
                    log.push(format!("<{name} {}>@{:?}", list.join(" "), start..span.end));
                }
                CallbackEvent::EndTag { name } => {
                    (raw, tag) = ("", None);
                    log.push(format!("</{}>@{place:?}", text(name)));
                }
                CallbackEvent::String { value } => log.push(format!("{raw}:{}@{place:?}", text(value))),
                CallbackEvent::Comment { value } => log.push(format!("!{}@{place:?}", text(value))),
                CallbackEvent::Doctype { .. } => log.push(format!("doctype@{place:?}")),
                CallbackEvent::Error(html5gum::Error::EofInComment) => log.push("unterminated".to_owned()),
                _ => {}
            }
            None
        });
        emitter.naively_switch_states(true);
        let Ok(()) = Tokenizer::new_with_emitter(html, emitter).finish();
        log
    }
}

/// Without the order of the last two, where a comment never ends.
fn sorted(mut log: Vec<String>) -> Vec<String> {
    log.sort();
    log
}

/// Pieces of which broken mails are made.
const PIECES: [&str; 84] = [
    "<",
    "<",
    "<",
    ">",
    ">",
    ">",
    "/",
    "!",
    "-",
    "--",
    "=",
    "=",
    "\"",
    "\"",
    "'",
    "'",
    " ",
    " ",
    "\n",
    "\t",
    "\r",
    "\0",
    "a",
    "B",
    "é",
    "1",
    "x",
    "&",
    "&amp;",
    "&amp",
    "&nbsp;",
    "&#x41;",
    "&#65",
    "&#128;",
    "&#0;",
    "&#xd800;",
    "&#;",
    "&#x",
    "&not",
    "&notin;",
    "&notit;",
    "&bogus;",
    "&copy=",
    "&lt1",
    ";",
    "style",
    "script",
    "title",
    "<a ",
    "<p>",
    "</p>",
    "<style>",
    "</style>",
    "</sty",
    "<script>",
    "</script",
    "<script ",
    "</SCRIPT>",
    "<title>",
    "</title ",
    "<textarea>",
    "</textarea>",
    "<xmp>",
    "</xmp>",
    "<plaintext>",
    "<!--",
    "<!--",
    "-->",
    "--!>",
    "<!-->",
    "<!-",
    "<!d",
    "<!doctype html>",
    "<!DOCTYPE x \"",
    "<![CDATA[",
    "]]>",
    "<![if mso]>",
    "<?xml",
    "</>",
    "</",
    "</ ",
    "{{x}}",
    " href=\"",
    " style='",
];

proptest::proptest! {
    #[test]
    fn any_text_is_read_as_the_standard_says(pieces in proptest::collection::vec(proptest::sample::select(&PIECES[..]), 0..40)) {
        let html = pieces.concat();
        assert_eq!(sorted(log(&html)), sorted(oracle::log(&html)), "{html:?}");
    }

    #[test]
    fn any_text_gives_spans_within_it(html in "[<>a/='\"! \\-é{}&;#x\n\r]{0,80}") {
        struct Spans<'h>(&'h str);
        impl Subject for Spans<'_> {
            fn attributes(&mut self, tag: &Tag<'_>) -> bool {
                assert!(self.0.get(tag.span.clone()).is_some(), "{:?}", tag.span);
                for attribute in tag.attributes() {
                    assert!(self.0.get(attribute.span.clone()).is_some(), "{:?}", attribute.span);
                }
                true
            }
            fn end(&mut self, _: &str, span: &Range<usize>) {
                assert!(self.0.get(span.clone()).is_some());
            }
            fn text(&mut self, _: &str, span: &Range<usize>, _: &str) {
                assert!(self.0.get(span.clone()).is_some());
            }
        }
        read(&html, true, &mut Spans(&html));
    }
}
