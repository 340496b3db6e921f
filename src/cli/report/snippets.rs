//! Findings with the lines they are about, for people.

use std::io;

use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{AnnotationKind, Level, Origin, Renderer, Snippet};

use crate::diagnostic::{Diagnostic, Excerpt, Severity};
use crate::untrusted::{Untrusted, is_control};

/// Writes the findings, an empty line after each.
///
/// # Errors
///
/// What the stream fails with.
pub fn write(out: &mut dyn io::Write, findings: &[Diagnostic]) -> io::Result<()> {
    let renderer = Renderer::styled().decor_style(DecorStyle::Ascii);
    findings.iter().try_for_each(|finding| writeln!(out, "{}\n", one(&renderer, finding)))
}

fn one(renderer: &Renderer, finding: &Diagnostic) -> String {
    let level = match finding.severity {
        Severity::Error => Level::ERROR,
        Severity::Warn => Level::WARNING,
        Severity::Info | Severity::Off => Level::INFO,
    };
    let message = Untrusted(&finding.message).line().to_string();
    let location = &finding.location;
    let path = Untrusted(&location.path).line().to_string();
    let label = label(finding);
    let shown = location.excerpt.as_ref().map(shown);
    let line = usize::try_from(location.line).unwrap_or(usize::MAX).max(1);
    let mut group = level.primary_title(message).id(finding.rule.name).elements(None::<Origin<'_>>);
    group = match &shown {
        Some((text, span)) => {
            let annotation = AnnotationKind::Primary.span(span.clone()).label(&label);
            group.element(Snippet::source(text).line_start(line).path(&path).annotation(annotation))
        }
        None if location.line > 0 => {
            let column = usize::try_from(location.column).unwrap_or(1);
            group.element(Origin::path(&path).line(line).char_column(column))
        }
        None => group.element(Origin::path(&path)),
    };
    if finding.count > 1 {
        let more = finding.count - 1;
        let places = if more == 1 { "place" } else { "places" };
        group = group.element(Level::NOTE.message(format!("{more} more {places} in this file")));
    }
    if shown.is_none() && !label.is_empty() {
        group = group.element(Level::NOTE.message(label.clone()));
    }
    if let Some(help) = &finding.help {
        group = group.element(Level::HELP.message(Untrusted(help).line().to_string()));
    }
    let text = renderer.render(&[group]);
    if shown.is_some() { placed(text, &format!("{path}:{line}:"), location.column) } else { text }
}

/// The excerpt is a part of its line, so the column that the renderer counts in it becomes the one in the file. The first line is the message.
fn placed(mut text: String, place: &str, column: u32) -> String {
    let title = text.find('\n').unwrap_or(text.len());
    if let Some(found) = text[title..].find(place) {
        let start = title + found + place.len();
        let digits = text[start..].bytes().take_while(u8::is_ascii_digit).count();
        text.replace_range(start..start + digits, &column.to_string());
    }
    text
}

/// The numbers, where a finding is about numbers.
fn label(finding: &Diagnostic) -> String {
    match (&finding.actual, &finding.allowed) {
        (Some(actual), Some(allowed)) => {
            format!("found {}, allowed {}", Untrusted(actual).line(), Untrusted(allowed).line())
        }
        _ => String::new(),
    }
}

/// The excerpt with its foreign characters made visible, and the span moved along.
fn shown(excerpt: &Excerpt) -> (String, std::ops::Range<usize>) {
    let mut text = String::with_capacity(excerpt.text.len() + 8);
    if excerpt.cut_left {
        text.push('…');
    }
    let (mut start, mut end) = (None, None);
    for (at, c) in excerpt.text.char_indices() {
        if at >= excerpt.span.start && start.is_none() {
            start = Some(text.len());
        }
        if at >= excerpt.span.end && end.is_none() {
            end = Some(text.len());
        }
        match c {
            '\t' => text.push(' '),
            '[' if text.ends_with("##") || text.ends_with("##vso") => text.push_str("\\["),
            ':' if text.ends_with(':') => text.push_str("\\:"),
            c if is_control(c) => text.push_str(&format!("\\u{{{:x}}}", u32::from(c))),
            c => text.push(c),
        }
    }
    let start = start.unwrap_or(text.len());
    let end = end.unwrap_or(text.len()).max(start);
    if excerpt.cut_right {
        text.push('…');
    }
    (text, start..end)
}
