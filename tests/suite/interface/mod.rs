//! The interface document, row by row, against the built-in service over real sockets. Each file and test is named after its section.

mod section_2_account;
mod section_2_attachment;
mod section_2_suppression;
mod section_2_template;
mod section_3_transitions;
mod section_4_1_list;
mod section_4_4_subscribe;
mod section_4_6_template;
mod section_4_requests;
mod section_5_keys;
mod section_7_errors;
mod section_8_limits;

use serde_json::{Value, json};

use crate::http::{Client, Reply};
use crate::support::Service;

/// A service and the client of its project.
struct Bench {
    service: Service,
    client: Client,
}

impl Bench {
    fn new() -> Self {
        Self::with([])
    }

    fn with<const N: usize>(arguments: [&str; N]) -> Self {
        let service = Service::with(arguments);
        let client = Client::of(&service);
        Self { service, client }
    }

    /// With a seed file of this text.
    fn seeded(text: &str) -> Self {
        Self::seeded_with(text, [])
    }

    fn seeded_with<const N: usize>(text: &str, arguments: [&str; N]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("seed.toml");
        std::fs::write(&file, text).unwrap();
        let seed = ["--seed".to_owned(), file.display().to_string()];
        let service = Service::with(seed.into_iter().chain(arguments.map(str::to_owned)));
        let client = Client::of(&service);
        Self { service, client }
    }

    /// The key of the account instead of the project's.
    fn account(&self) -> Client {
        Client::with_key(&self.service, &self.service.account_key)
    }

    /// `/template/create` with a good template in which `fields` are replaced; `null` leaves one out.
    fn template(&self, fields: Value) -> Reply {
        let mut template = json!({ "name": "A template", "body": { "html": "<p>Hello</p>" } });
        for (name, value) in fields.as_object().unwrap() {
            template[name] = value.clone();
        }
        template.as_object_mut().unwrap().retain(|_, value| !value.is_null());
        self.client.post("/template/create", &json!({ "template": template }))
    }

    /// The stored template after a good request.
    #[track_caller]
    fn stored(&self, fields: Value) -> Value {
        self.template(fields).success()["template"].clone()
    }

    fn suppress(&self, email: &str, reason: &str) -> Reply {
        self.client.post("/suppression/create", &json!({ "email": email, "reason": reason }))
    }

    fn list(&self, request: Value) -> Vec<Value> {
        self.client.post("/suppression/list", &request).success()["suppressions"].as_array().unwrap().clone()
    }

    fn release(&self, email: &str) -> Reply {
        self.client.post("/suppression/delete", &json!({ "email": email }))
    }

    fn subscribe(&self, recipient: &str) -> Reply {
        let request =
            json!({ "sender_email": "shop@example.com", "sender_name": "Shop", "recipient_email": recipient });
        self.client.post("/email/subscribe", &request)
    }
}

/// An object whose type is wrong in one field, for every JSON type but `right`.
fn wrong_types(right: &str) -> Vec<Value> {
    let all = [
        ("boolean", json!(true)),
        ("integer", json!(7)),
        ("float", json!(1.5)),
        ("string", json!("x")),
        ("array", json!([])),
        ("object", json!({})),
    ];
    all.into_iter().filter(|(name, _)| *name != right).map(|(_, value)| value).collect()
}
