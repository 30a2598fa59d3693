//! A page as a browser reads it.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::process::{Command, Stdio};

use html5ever::driver::{ParseOpts, parse_document};
use html5ever::tendril::TendrilSink as _;
use markup5ever_rcdom::{Handle, NodeData, RcDom};

/// An element: what it is, its attributes, and all text in it.
pub(crate) struct Element {
    pub(crate) name: String,
    pub(crate) attributes: BTreeMap<String, String>,
    pub(crate) text: String,
}

impl Element {
    pub(crate) fn class(&self) -> &str {
        self.attributes.get("class").map_or("", |class| class)
    }
}

/// A page, read without an error of syntax.
pub(crate) struct Page {
    pub(crate) bytes: String,
    pub(crate) elements: Vec<Element>,
}

impl Page {
    pub(crate) fn read(bytes: String) -> Self {
        let dom = parse_document(RcDom::default(), ParseOpts::default()).one(bytes.as_str());
        assert_eq!(*dom.errors.borrow(), Vec::<std::borrow::Cow<'_, str>>::new());
        let mut elements = Vec::new();
        collect(&dom.document, &mut elements);
        Self { bytes, elements }
    }

    pub(crate) fn all(&self, name: &'static str) -> impl Iterator<Item = &Element> {
        self.elements.iter().filter(move |element| element.name == name)
    }

    pub(crate) fn texts(&self, name: &'static str) -> Vec<&str> {
        self.all(name).map(|element| element.text.as_str()).collect()
    }

    pub(crate) fn has(&self, name: &'static str, text: &str) -> bool {
        self.all(name).any(|element| element.text == text)
    }

    /// The sums of what the tips of the bars say.
    pub(crate) fn tips(&self) -> BTreeMap<&str, u64> {
        let mut sums = BTreeMap::new();
        for tip in self.all("title").filter(|title| title.text.contains('\n')) {
            for line in tip.text.lines().skip(1) {
                let (number, name) = line.split_once(' ').unwrap();
                *sums.entry(name).or_default() += number.replace(',', "").parse::<u64>().unwrap();
            }
        }
        sums
    }

    /// Its content security policy allows the one style sheet, by its hash, and nothing else.
    pub(crate) fn assert_policy(&self) {
        let style = self.texts("style");
        let mut openssl = Command::new("sh");
        openssl
            .args(["-c", "openssl dgst -sha256 -binary | openssl base64 -A"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut child = openssl.spawn().unwrap();
        child.stdin.take().unwrap().write_all(style[0].as_bytes()).unwrap();
        let hash = String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
        let csp = self.all("meta").find(|meta| meta.attributes.contains_key("http-equiv")).unwrap();
        assert_eq!(csp.attributes["http-equiv"], "Content-Security-Policy");
        let expected =
            format!("default-src 'none'; base-uri 'none'; form-action 'none'; style-src 'sha256-{hash}'");
        assert_eq!(csp.attributes["content"], expected);
        // Before anything that it could forbid.
        assert!(self.bytes.find("Content-Security-Policy").unwrap() < self.bytes.find("<style").unwrap());
    }
}

fn collect(node: &Handle, elements: &mut Vec<Element>) -> String {
    let own = elements.len();
    let mut text = String::new();
    match &node.data {
        NodeData::Element { name, attrs, .. } => {
            let attributes = attrs.borrow();
            let attributes = attributes.iter().map(|a| (a.name.local.to_string(), a.value.to_string()));
            let name = name.local.to_string();
            elements.push(Element { name, attributes: attributes.collect(), text: String::new() });
        }
        NodeData::Text { contents } => text.push_str(&contents.borrow()),
        NodeData::Comment { contents } => panic!("a comment: {contents}"),
        _ => {}
    }
    for child in node.children.borrow().iter() {
        text.push_str(&collect(child, elements));
    }
    if let (NodeData::Element { .. }, Some(element)) = (&node.data, elements.get_mut(own)) {
        element.text.clone_from(&text);
    }
    text
}
