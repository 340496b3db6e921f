//! A tree of template folders in the shape that real teams keep, the same on every machine.
//!
//! Each folder has a manifest of 0.7 KB, 30 KB of html in table layout and 2 KB of text; one in ten has an inline image of 8 KB, one in
//! fifty an attachment of 100 KB. Folders are grouped by fifty, so that keys look like `team-003/template-00151`.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

const WORDS: [&str; 20] = [
    "account", "order", "ship", "invoice", "welcome", "team", "reset", "link", "secure", "monthly", "report", "thanks",
    "update", "device", "sign", "plan", "trial", "review", "payment", "ticket",
];

/// A small generator of numbers: what matters is that the tree is the same everywhere.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % end
    }

    fn word(&mut self) -> &'static str {
        WORDS[self.below(WORDS.len())]
    }

    fn bytes(&mut self, start: &[u8], count: usize) -> Vec<u8> {
        let mut bytes = start.to_vec();
        bytes.extend((0..count).map(|_| u8::try_from(self.below(256)).unwrap()));
        bytes
    }
}

/// Writes `count` folders below `templates`, unless they are there already.
pub fn write(templates: &Path, count: usize) {
    let done = templates.with_extension(format!("{count}.done"));
    if done.exists() {
        return;
    }
    let mut numbers = Numbers(1);
    let paragraphs: Vec<String> =
        (0..400).map(|_| (0..60).map(|_| numbers.word()).collect::<Vec<_>>().join(" ")).collect();
    let png = numbers.bytes(b"\x89PNG\r\n\x1a\n", 8184);
    let pdf = numbers.bytes(b"%PDF-1.4\n", 100 * 1024);
    for index in 0..count {
        let folder = templates.join(format!("team-{:03}/template-{index:05}", index / 50));
        fs::create_dir_all(&folder).unwrap();
        let (inline, attached) = (index % 10 == 0, index % 50 == 0);
        let mut manifest = manifest(index, numbers.word());
        if inline {
            manifest.push_str("inline_attachments:\n  - path: logo.png\n");
            fs::write(folder.join("logo.png"), &png).unwrap();
        }
        if attached {
            manifest.push_str("attachments:\n  - path: terms.pdf\n");
            fs::write(folder.join("terms.pdf"), &pdf).unwrap();
        }
        let html = html(index, inline, &paragraphs, &mut numbers);
        let text: Vec<&str> = (0..5).map(|_| paragraphs[numbers.below(400)].as_str()).collect();
        let text = format!("Hello {{{{first_name}}}},\n\n{}\n\n{{{{company}}}}\n", text.join("\n\n"));
        fs::write(folder.join("manifest.yaml"), manifest).unwrap();
        fs::write(folder.join("body.html"), html).unwrap();
        fs::write(folder.join("body.txt"), text).unwrap();
    }
    fs::write(done, "").unwrap();
}

fn manifest(index: usize, word: &str) -> String {
    let team = index / 50;
    format!(
        "name: Template {index}\nsubject: \"{word} for {{{{first_name}}}}\"\nsender_email: team{team}@example.com\n\
         sender_name: Example Team {team}\nreply_to: help@example.com\nglobal_replacements:\n  company: Example Ltd\n  \
         first_name: there\n  user_id: \"0\"\n  unsubscribe_url: https://example.com/u\nglobal_info:\n  team: team-{team:03}\n  \
         number: \"{index}\"\nheaders:\n  X-SVC-Global-Language: en\ncheck_links: 1\ncheck_read: 1\n"
    )
}

fn html(index: usize, inline: bool, paragraphs: &[String], numbers: &mut Numbers) -> String {
    let mut html = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width\">\n\
         <title>Template {index}</title>\n</head>\n<body style=\"margin:0;padding:0;background:#f6f6f6\">\n  \
         <table role=\"presentation\" width=\"100%\" cellpadding=\"0\" cellspacing=\"0\" border=\"0\">\n"
    );
    if inline {
        html.push_str("      <tr><td><img src=\"cid:logo.png\" alt=\"Logo\" width=\"120\" height=\"40\"></td></tr>\n");
    }
    for row in 0..38 {
        let (paragraph, word) = (&paragraphs[numbers.below(paragraphs.len())], numbers.word());
        let _ = write!(
            html,
            "      <tr><td align=\"left\" valign=\"top\" style=\"font-family:Helvetica,Arial,sans-serif;font-size:16px;line-height:24px;\
             color:#333333;padding:12px 24px;border-bottom:1px solid #eeeeee\">\n        <p style=\"margin:0 0 12px 0\">{paragraph}</p>\n        \
             <a href=\"https://example.com/{index}/{row}?u={{{{user_id}}}}\" style=\"color:#1a73e8;text-decoration:none\">{word}</a>\n      \
             </td></tr>\n"
        );
    }
    html.push_str("  </table>\n  <p><a href=\"{{unsubscribe_url}}\">Unsubscribe</a></p>\n</body>\n</html>\n");
    html
}
