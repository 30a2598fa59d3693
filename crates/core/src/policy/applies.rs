//! Which requests a rule is about, as far as those who send them may know it.

use super::Rule;

/// The conditions of a rule that name what everybody knows: methods, paths, hosts and plans. Of those that may tell of the
/// inside (headers and their values, networks, what is left out) only that there are some.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct AppliesTo<'a> {
    /// Any of these methods; none for every method.
    pub methods: Vec<&'a str>,
    /// Paths by this template; `None` for every path.
    pub path: Option<&'a str>,
    /// Any of these hosts; none for every host.
    pub hosts: Vec<String>,
    /// Callers on any of these plans; none for every plan.
    pub plans: Vec<&'a str>,
    /// Whether there are other conditions.
    pub others: bool,
    /// Whether some requests are left out all the same.
    pub exceptions: bool,
}

impl AppliesTo<'_> {
    /// Whether it says nothing.
    #[must_use]
    pub fn is_everything(&self) -> bool {
        let Self { methods, path, hosts, plans, others, exceptions } = self;
        let said = !methods.is_empty() || path.is_some() || !hosts.is_empty() || !plans.is_empty();
        !said && !others && !exceptions
    }
}

impl Rule {
    /// The requests that it applies to, for those who send them.
    #[must_use]
    pub fn applies_to(&self) -> AppliesTo<'_> {
        self.conditions.applies_to()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::{HeaderSource, HeaderTest, MatchSource, Policy, PolicySource, RuleSource};
    use crate::key::{KeySpec, Kind};
    use crate::limit::Limit;
    use crate::rate::Rate;

    #[test]
    fn callers_are_told_what_they_may_know() {
        let minute = Duration::from_secs(60);
        let limit = Limit::token_bucket(5, Rate::new(120, minute)).unwrap();
        assert_eq!(limit.lasting_rate(), Some(Rate::new(2, Duration::from_secs(1))));
        assert_eq!(Limit::fixed_window(5, minute).unwrap().lasting_rate(), None);
        let rule = |name: &str, matches| {
            let key = KeySpec::parse(&["user | ip", "route"]).unwrap();
            RuleSource { matches, ..RuleSource::new(name, key, limit) }
        };
        let header = HeaderSource { name: "x-inside".to_owned(), test: HeaderTest::Present };
        let matches = MatchSource {
            methods: vec!["GET".to_owned(), "HEAD".to_owned()],
            path: Some("/a/{id}".to_owned()),
            hosts: vec!["*.example.org".to_owned()],
            headers: vec![header],
            not: vec![MatchSource { path: Some("/a/b".to_owned()), ..MatchSource::default() }],
            ..MatchSource::default()
        };
        let rules = vec![rule("some", matches), rule("all", MatchSource::default())];
        let policy = Policy::compile(PolicySource { rules, ..PolicySource::default() }).unwrap();
        let [some, all] = policy.rules() else { panic!("two rules") };
        assert!(all.applies_to().is_everything() && !some.applies_to().is_everything());
        let told = some.applies_to();
        assert_eq!((told.methods.as_slice(), told.path), (["GET"].as_slice(), Some("/a/{id}")));
        assert_eq!(
            (told.hosts, told.others, told.exceptions),
            (vec!["*.example.org".to_owned()], true, true)
        );
        let parts: Vec<&[Kind]> = some.key().parts().collect();
        assert_eq!(parts, [[Kind::User, Kind::Ip].as_slice(), &[Kind::Route]]);
        assert_eq!(policy.status_limit().map(Limit::quota), Some(60));
    }
}
