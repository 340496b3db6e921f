//! Engines whose expressions are the service's business: only the balance of their delimiters and blocks is checked.

use super::{Flaw, MOST, TOO_MANY};

/// Checks `{{ }}`, `{% %}` and the blocks of liquid.
#[must_use]
pub fn liquid(text: &str) -> Vec<Flaw> {
    let mut flaws = Vec::new();
    let mut blocks: Vec<(&str, usize)> = Vec::new();
    let mut at = 0;
    while let Some(found) = text[at..].find('{') {
        let start = at + found;
        if flaws.len().max(blocks.len()) >= MOST {
            flaws.push(Flaw { span: start..start + 1, message: TOO_MANY });
            break;
        }
        let output = text[start..].starts_with("{{");
        if !output && !text[start..].starts_with("{%") {
            at = start + 1;
            continue;
        }
        let close = if output { "}}" } else { "%}" };
        let Some(end) = text[start + 2..].find(close) else {
            flaws.push(Flaw { span: start..start + 2, message: "this tag never closes" });
            break;
        };
        at = start + 2 + end + 2;
        if output {
            continue;
        }
        let inside = text[start + 2..at - 2].trim_matches(|c: char| c == '-' || c.is_whitespace());
        let word = inside.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default();
        match word {
            "raw" | "comment" => {
                let ends = if word == "raw" { "endraw" } else { "endcomment" };
                match text[at..].find(ends) {
                    Some(found) => at += found + ends.len(),
                    None => {
                        flaws.push(Flaw { span: start..at, message: "this block is never ended" });
                        break;
                    }
                }
            }
            "if" | "unless" | "for" | "case" | "capture" | "tablerow" => blocks.push((word, start)),
            _ => {
                if let Some(ended) = word.strip_prefix("end") {
                    match blocks.last() {
                        Some((open, _)) if *open == ended => {
                            blocks.pop();
                        }
                        _ => flaws.push(Flaw { span: start..at, message: "this ends a block that is not open" }),
                    }
                }
            }
        }
    }
    flaws.extend(
        blocks.iter().map(|(_, start)| Flaw { span: *start..*start + 2, message: "this block is never ended" }),
    );
    flaws.sort_by_key(|flaw| flaw.span.start);
    flaws
}

/// Checks `${ }` and the `#…` blocks of velocity.
#[must_use]
pub fn velocity(text: &str) -> Vec<Flaw> {
    let mut flaws = Vec::new();
    let mut blocks: Vec<usize> = Vec::new();
    for (start, mark) in text.match_indices(['$', '#']) {
        if flaws.len().max(blocks.len()) >= MOST {
            flaws.push(Flaw { span: start..start + 1, message: TOO_MANY });
            break;
        }
        let rest = &text[start + 1..];
        if mark == "$" {
            let opens = rest.starts_with('{') || rest.starts_with("!{");
            if opens && !super::window(rest).contains('}') {
                flaws.push(Flaw { span: start..start + 2, message: "this tag never closes" });
            }
            continue;
        }
        let word = rest.trim_start_matches('{');
        let length = word.bytes().take_while(u8::is_ascii_alphabetic).count();
        let opens_with_parenthesis = word[length..].trim_start().starts_with('(');
        match &word[..length] {
            "if" | "foreach" | "macro" | "define" if opens_with_parenthesis => blocks.push(start),
            "end" if blocks.pop().is_none() => {
                flaws.push(Flaw { span: start..start + 4, message: "this ends a block that is not open" });
            }
            _ => {}
        }
    }
    flaws.extend(blocks.iter().map(|start| Flaw { span: *start..*start + 1, message: "this block is never ended" }));
    flaws.sort_by_key(|flaw| flaw.span.start);
    flaws
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn liquid_blocks_balance() {
        assert_eq!(liquid("{% if a %}{{ b | upcase }}{% else %}c{% endif %}{% raw %}{{{% endraw %}"), []);
        for bad in ["{% if a %}", "{{ a", "{% endif %}", "{% for a in b %}{% endif %}", "{% raw %}"] {
            assert!(!liquid(bad).is_empty(), "{bad}");
        }
    }

    #[test]
    fn velocity_blocks_balance() {
        assert_eq!(velocity("#if($a)$!{b}#else c#end #set($x = 1) color:#endash #fff <a href=\"#if\">"), []);
        for bad in ["#if($a)", "#end", "${a", "#foreach($a in $b)#if(1)#end"] {
            assert!(!velocity(bad).is_empty(), "{bad}");
        }
    }
}
