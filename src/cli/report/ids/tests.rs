use super::*;
use crate::check::Variable;

fn ids(keys: &[&str]) -> BTreeMap<Key, Id> {
    let pair = |(n, key): (usize, &&str)| (Key::new(*key).unwrap(), Id::new(format!("id-{n}")).unwrap());
    keys.iter().enumerate().map(pair).collect()
}

fn contract(engine: &str, variables: &[(&str, bool, Option<&str>)]) -> Contract {
    let variable = |(name, required, value): &(&str, bool, Option<&str>)| {
        let value = value.map(str::to_owned);
        ((*name).to_owned(), Variable { required: *required, value, used_in: vec!["html".to_owned()] })
    };
    Contract { engine: engine.to_owned(), variables: variables.iter().map(variable).collect() }
}

fn typed(format: Format) -> String {
    let receipt =
        contract("simple", &[("amount", true, None), ("first_name", false, None), ("company", false, Some("Example"))]);
    let contracts = [("billing/receipt", receipt), ("free", contract("liquid", &[]))];
    let contracts = contracts.into_iter().map(|(key, contract)| (Key::new(key).unwrap(), contract)).collect();
    variables(format, &ids(&["billing/receipt", "free"]), &contracts).unwrap().unwrap()
}

#[test]
fn dotenv_names_are_upper_case() {
    let text = render(Format::Dotenv, "local", &ids(&["billing/pay-failed", "2fa"])).unwrap();
    assert_eq!(text, "LETTERPRESS_ID_2FA=id-1\nLETTERPRESS_ID_BILLING_PAY_FAILED=id-0\n");
}

#[test]
fn keys_that_cannot_be_told_apart_are_refused() {
    assert!(render(Format::Dotenv, "local", &ids(&["a-b", "a_b"])).is_err());
    assert!(render(Format::Json, "local", &ids(&["a-b", "a_b"])).is_ok());
}

#[test]
fn keys_in_other_scripts_are_told_apart() {
    let text = render(Format::Dotenv, "local", &ids(&["größe", "世界", "宇宙", "!"])).unwrap();
    let names: Vec<&str> = text.lines().filter_map(|line| line.split('=').next()).collect();
    let expected = ["U0021", "U4E16U754C", "U5B87U5B99"].map(|name| format!("LETTERPRESS_ID_{name}"));
    assert_eq!(names[1..], expected);
    assert_eq!(names[0], "LETTERPRESS_ID_GRU00F6U00DFE");
}

#[test]
fn variables_that_cannot_be_told_apart_are_refused() {
    let same = contract("simple", &[("a_b", true, None), ("aB", true, None)]);
    let contracts = [(Key::new("welcome").unwrap(), same)].into();
    let ids = ids(&["welcome"]);
    for format in [Format::Go, Format::Rust] {
        let error = variables(format, &ids, &contracts).unwrap_err().to_string();
        assert!(error.starts_with("the variables of `welcome`, `aB` and `a_b` would both be called"), "{error}");
    }
    assert!(variables(Format::Typescript, &ids, &contracts).is_ok());
    assert!(variables(Format::Python, &ids, &contracts).is_ok());
}

#[test]
fn go_is_aligned_as_gofmt_does() {
    let text = render(Format::Go, "local", &ids(&["a", "long"])).unwrap();
    assert!(text.contains("\t\"a\":    \"id-0\",\n\t\"long\": \"id-1\",\n"), "{text}");
}

#[test]
fn each_language_says_what_is_required() {
    assert_eq!(
        typed(Format::Typescript),
        "\nexport interface TemplateVariables {\n  \"billing/receipt\": { \"amount\": string; \"first_name\"?: string };\n  \"free\": Record<string, unknown>;\n}\n"
    );
    assert!(typed(Format::Python).ends_with(
        "BillingReceiptVariables = TypedDict(\"BillingReceiptVariables\", {\"amount\": Required[str], \"first_name\": NotRequired[str]})\nFreeVariables = dict[str, Any]\n"
    ));
    assert!(typed(Format::Go).contains(
        "type BillingReceiptVariables struct {\n\tAmount    string  `json:\"amount\"`\n\tFirstName *string `json:\"first_name,omitempty\"`\n}\n"
    ));
    let rust = typed(Format::Rust);
    assert!(rust.contains("pub struct BillingReceiptVariables {\n    /// `amount`\n    pub amount: String,\n    /// `first_name`\n    pub first_name: Option<String>,\n}\n"), "{rust}");
    assert!(rust.contains("// `free` is of another engine"), "{rust}");
}

#[test]
fn words_of_the_language_become_names() {
    let words = contract("simple", &[("type", true, None), ("Self", true, None), ("userID", true, None)]);
    let contracts = [(Key::new("fn").unwrap(), words)].into();
    let text = variables(Format::Rust, &ids(&["fn"]), &contracts).unwrap().unwrap();
    for field in ["pub r#type: String", "pub self_: String", "pub user_id: String", "(\"userID\", Some(self.user_id))"]
    {
        assert!(text.contains(field), "{field}\n{text}");
    }
}
