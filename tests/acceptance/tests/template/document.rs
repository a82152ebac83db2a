//! The template as CloudFormation would compute it.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::source::{Source, read, set};

pub(crate) fn yaml(path: &str) -> Value {
    serde_saphyr::from_str(&read(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn list(value: &Value) -> Vec<Value> {
    value.as_array().cloned().unwrap_or_else(|| vec![value.clone()])
}

fn texts(value: &Value) -> BTreeSet<String> {
    set(list(value).iter().filter_map(Value::as_str))
}

/// The template, deployed as the stack `shop` with some of its parameters set.
pub(crate) struct Template {
    pub(crate) document: Value,
    pub(crate) parameters: BTreeMap<String, String>,
}

impl Template {
    pub(crate) fn with(parameters: &[(&str, &str)]) -> Template {
        let given = parameters.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Template::new(yaml("template.yaml"), given)
    }

    /// A stack that this one brings along, with the parameters that it is given.
    pub(crate) fn nested(&self, name: &str) -> Template {
        let stack = self.resources("AWS::CloudFormation::Stack")[name];
        let given = stack["Parameters"].as_object().expect("parameters").iter();
        let given = given.map(|(name, value)| (name.clone(), self.text(value).expect("a value")));
        Template::new(yaml(stack["TemplateURL"].as_str().expect("a file")), given)
    }

    fn new(document: Value, given: impl Iterator<Item = (String, String)>) -> Template {
        let mut values = BTreeMap::new();
        for (name, parameter) in document["Parameters"].as_object().expect("parameters") {
            if let Some(default) = parameter.get("Default") {
                values.insert(name.clone(), plain(default).expect("a plain default"));
            }
        }
        for (name, value) in given {
            assert!(document["Parameters"][&name].is_object(), "{name} is a parameter");
            values.insert(name, value);
        }
        Template { document, parameters: values }
    }

    pub(crate) fn resources(&self, kind: &str) -> BTreeMap<&str, &Value> {
        let all = self.document["Resources"].as_object().expect("resources");
        let of_kind = all.iter().filter(|(_, resource)| resource["Type"] == kind);
        of_kind.map(|(name, resource)| (name.as_str(), &resource["Properties"])).collect()
    }

    /// The functions by their folders.
    pub(crate) fn functions(&self) -> BTreeMap<String, Function<'_>> {
        let functions = self.resources("AWS::Serverless::Function").into_iter();
        let by_folder = functions.map(|(name, properties)| {
            let metadata = &self.document["Resources"][name]["Metadata"];
            assert_eq!(metadata["BuildMethod"], "rust-cargolambda", "{name}");
            let code = properties["CodeUri"].as_str().expect("the folder of the code");
            let folder = code.strip_prefix("functions/").unwrap_or_else(|| panic!("{name} is built from {code}"));
            let source = Source::of(folder);
            (folder.to_owned(), Function { template: self, name, properties, source })
        });
        by_folder.collect()
    }

    /// What a queue, by its logical name, is called.
    pub(crate) fn queue_name(&self, name: &str) -> String {
        self.text(&self.document["Resources"][name]["Properties"]["QueueName"])
            .unwrap_or_else(|| panic!("queue {name}"))
    }

    /// A value as CloudFormation would compute it; `None` for `AWS::NoValue`.
    pub(crate) fn text(&self, value: &Value) -> Option<String> {
        if let Some(text) = plain(value) {
            return Some(text);
        }
        let argument = |name: &str| value.get(name);
        if let Some(name) = argument("Ref").and_then(Value::as_str) {
            return self.reference(name);
        }
        if let Some(pair) = argument("Fn::GetAtt") {
            return Some(format!("arn:aws:{}", self.reference(pair[0].as_str()?)?));
        }
        if let Some(text) = argument("Fn::Sub").and_then(Value::as_str) {
            return Some(self.substituted(text));
        }
        if let Some(place) = argument("Fn::FindInMap") {
            let found = &self.document["Mappings"][place[0].as_str()?][self.text(&place[1])?][place[2].as_str()?];
            return Some(plain(found).unwrap_or_else(|| panic!("nothing at {place}")));
        }
        if let Some(choice) = argument("Fn::If") {
            return self.text(&choice[self.branch(choice)]);
        }
        panic!("this test cannot compute {value}")
    }

    /// What a condition leaves of a value that is no text; `None` for `AWS::NoValue`.
    fn chosen(&self, value: Value) -> Option<Value> {
        let chosen = match value.get("Fn::If") {
            Some(choice) => choice[self.branch(choice)].clone(),
            None => value,
        };
        (chosen != json!({"Ref": "AWS::NoValue"})).then_some(chosen)
    }

    /// Which of its members an `Fn::If` comes to.
    fn branch(&self, choice: &Value) -> usize {
        let name = choice[0].as_str().expect("a condition");
        if self.holds(&self.document["Conditions"][name]) { 1 } else { 2 }
    }

    fn substituted(&self, text: &str) -> String {
        let mut parts = text.split("${");
        let mut result = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let (name, rest) = part.split_once('}').expect("a closed ${");
            let value = match name.split_once('.') {
                Some((resource, attribute)) => self.text(&json!({"Fn::GetAtt": [resource, attribute]})),
                None => self.reference(name),
            };
            result += &value.expect("a value");
            result += rest;
        }
        result
    }

    fn reference(&self, name: &str) -> Option<String> {
        match name {
            "AWS::NoValue" => None,
            "AWS::StackName" => Some("shop".to_owned()),
            "AWS::Partition" | "AWS::Region" | "AWS::AccountId" => Some(name.to_owned()),
            name if self.document["Parameters"][name].is_object() => {
                Some(self.parameters.get(name).unwrap_or_else(|| panic!("the parameter {name} has no value")).clone())
            }
            name if self.document["Resources"][name]["Type"] == "AWS::SQS::Queue" => {
                Some(format!("https://sqs/{}", self.queue_name(name)))
            }
            name => {
                assert!(self.document["Resources"][name].is_object(), "{name} is a resource");
                Some(name.to_owned())
            }
        }
    }

    fn holds(&self, condition: &Value) -> bool {
        match (condition.get("Fn::Not"), condition.get("Fn::Equals")) {
            (Some(not), _) => !self.holds(&not[0]),
            (None, Some(pair)) => self.text(&pair[0]) == self.text(&pair[1]),
            (None, None) => panic!("this test cannot judge {condition}"),
        }
    }
}

pub(crate) fn plain(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// A function in the template and the code it runs.
pub(crate) struct Function<'a> {
    template: &'a Template,
    pub(crate) name: &'a str,
    properties: &'a Value,
    pub(crate) source: Source,
}

impl Function<'_> {
    pub(crate) fn variables(&self) -> BTreeMap<String, String> {
        let shared = &self.template.document["Globals"]["Function"]["Environment"]["Variables"];
        let own = &self.properties["Environment"]["Variables"];
        let given = [shared, own].into_iter().filter_map(Value::as_object).flatten();
        given.filter_map(|(name, value)| Some((name.clone(), self.template.text(value)?))).collect()
    }

    pub(crate) fn seconds(&self) -> u64 {
        self.properties["Timeout"].as_u64().expect("a timeout")
    }

    /// The mappings of one kind.
    pub(crate) fn events(&self, kind: &str) -> Vec<&Value> {
        let events = self.properties["Events"].as_object().into_iter().flat_map(|events| events.values());
        events.filter(|event| event["Type"] == kind).map(|event| &event["Properties"]).collect()
    }

    /// The queues it is invoked with, by name.
    pub(crate) fn receives(&self) -> BTreeSet<String> {
        let queues = self.events("SQS").into_iter();
        set(queues.map(|event| self.template.queue_name(event["Queue"]["Fn::GetAtt"][0].as_str().expect("a queue"))))
    }

    /// What its role allows: each action with each resource.
    pub(crate) fn allowed(&self) -> BTreeSet<(String, String)> {
        let role = self.properties["Role"]["Fn::GetAtt"][0].as_str().expect("a role");
        assert_eq!(role, format!("{}Role", self.name), "each function has its own");
        let role = &self.template.document["Resources"][role]["Properties"];
        assert_eq!(role["ManagedPolicyArns"], Value::Null, "{}", self.name);
        let mut allowed = BTreeSet::new();
        let policies = list(&role["Policies"]);
        let statements = policies.iter().flat_map(|policy| list(&policy["PolicyDocument"]["Statement"]));
        for statement in statements.filter_map(|statement| self.template.chosen(statement)) {
            assert_eq!(statement["Effect"], "Allow");
            for resource in list(&statement["Resource"]) {
                let resource = self.template.text(&resource).expect("a resource");
                allowed.extend(texts(&statement["Action"]).into_iter().map(|action| (action, resource.clone())));
            }
        }
        allowed
    }
}
