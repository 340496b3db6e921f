//! §2.5: the attachment object, and its size limit (§8).

use serde_json::{Value, json};

use super::{Bench, wrong_types};

fn file(fields: Value) -> Value {
    let mut file = json!({ "type": "text/plain", "name": "a.txt", "content": "aGVsbG8=" });
    for (name, value) in fields.as_object().unwrap() {
        file[name] = value.clone();
    }
    file
}

const LISTS: [&str; 2] = ["attachments", "inline_attachments"];

#[test]
fn s2_5_files_come_back_as_sent_in_their_order() {
    let bench = Bench::new();
    for list in LISTS {
        let files = json!([
            file(json!({ "name": "b.txt" })),
            file(json!({ "name": "a.txt", "type": "application/octet-stream" }))
        ]);
        assert_eq!(bench.stored(json!({ list: files }))[list], files);
    }
}

#[test]
fn s2_5_type_name_and_content_are_required_strings() {
    let bench = Bench::new();
    for list in LISTS {
        for field in ["type", "name", "content"] {
            let mut second = file(json!({ "name": "b.txt" }));
            second.as_object_mut().unwrap().remove(field);
            let reply = bench.template(json!({ list: [file(json!({})), second] }));
            reply.refuses(400, "9012", &format!("`template.{list}[1].{field}` is missing"));
        }
        for field in ["type", "name", "content"] {
            for wrong in wrong_types("string") {
                bench.template(json!({ list: [file(json!({ field: wrong }))] })).refuses(
                    400,
                    "9013",
                    &format!("[0].{field}` is "),
                );
            }
        }
        for wrong in wrong_types("object") {
            bench.template(json!({ list: [wrong] })).refuses(400, "9013", &format!("`template.{list}[0]` is "));
        }
    }
}

#[test]
fn s2_5_type_is_a_mime_type() {
    let bench = Bench::new();
    for good in ["image/png", "text/plain; charset=utf-8", "application/vnd.ms-excel"] {
        bench.template(json!({ "attachments": [file(json!({ "type": good }))] })).success();
    }
    for wrong in ["", "png", "image/", " image/png", "/png", "image/p ng", "a/b/c", "text/plain\r\nx: y"] {
        let reply = bench.template(json!({ "attachments": [file(json!({ "type": wrong }))] }));
        reply.refuses(400, "9014", "is not a MIME type");
    }
}

#[test]
fn s2_5_name_is_name_dot_extension() {
    let bench = Bench::new();
    for good in ["a.b", "logo@2x.png", "Žluťoučký kůň.pdf", "archive.tar.gz"] {
        bench.template(json!({ "inline_attachments": [file(json!({ "name": good }))] })).success();
    }
    for wrong in ["", "name", ".extension", "name."] {
        let reply = bench.template(json!({ "attachments": [file(json!({ "name": wrong }))] }));
        reply.refuses(400, "9014", "`name.extension`");
    }
    for wrong in ["../a.txt", "a\\b.txt", "a\".txt", "a\n.txt"] {
        let reply = bench.template(json!({ "attachments": [file(json!({ "name": wrong }))] }));
        reply.refuses(400, "9014", "a slash, a quote or a control character");
    }
    let long = |bytes: usize| format!("{}.txt", "a".repeat(bytes - 4));
    bench.template(json!({ "attachments": [file(json!({ "name": long(255) }))] })).success();
    bench.template(json!({ "attachments": [file(json!({ "name": long(256) }))] })).refuses(400, "9015", "256 bytes");
}

#[test]
fn s2_5_names_are_unique_in_their_list() {
    let bench = Bench::new();
    let twice = json!([file(json!({})), file(json!({ "name": "A.TXT" }))]);
    bench.template(json!({ "attachments": twice })).refuses(400, "9014", "[1].name` is there twice");
    bench.template(json!({ "attachments": [file(json!({}))], "inline_attachments": [file(json!({}))] })).success();
}

#[test]
fn s2_5_content_is_padded_base64() {
    let bench = Bench::new();
    for wrong in ["aGVsbG8", "aGVs bG8=", "aGVsbG8=\n", "_-_-", "aGVsbG8=aGVsbG8=", "é", "===="] {
        let reply = bench.template(json!({ "attachments": [file(json!({ "content": wrong }))] }));
        reply.refuses(400, "9014", "is not base64");
    }
    bench.template(json!({ "attachments": [file(json!({ "content": "" }))] })).refuses(400, "9014", "is empty");
}

#[test]
fn s2_5_and_s8_a_file_has_at_most_9786710_characters_of_base64() {
    let bench = Bench::new();
    let send = |characters: usize| {
        bench.template(json!({ "attachments": [file(json!({ "content": "A".repeat(characters) }))] }))
    };
    // The largest multiple of four within the limit is 7,340,031 bytes of file.
    assert_eq!(
        send(9_786_708).success()["template"]["attachments"][0]["content"].as_str().map(str::len),
        Some(9_786_708)
    );
    send(9_786_712).refuses(400, "9015", "9786712 characters of base64, at most 9786710");
}
