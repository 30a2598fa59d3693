//! Messages by language: English and Spanish, and whatever a policy adds.

use super::kind::MessageKind;
use super::template::Template;
use super::words::Words;
use crate::error::PresentationError;
use crate::tag::Tag;

/// Messages by language and kind. English and Spanish are there; a policy replaces some and adds others.
///
/// ```
/// use cupo_http::{MessageKind, Messages, Template};
///
/// let text = Template::parse("Trop de demandes: {limit} en {window}.", MessageKind::Exceeded)?;
/// let mut messages = Messages::default();
/// messages.set("fr", MessageKind::Exceeded, None, text)?;
/// # Ok::<(), cupo_http::PresentationError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Messages(Vec<Language>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Language {
    tag: Tag,
    words: Words,
    texts: Vec<Text>,
}

/// One message.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Text {
    kind: MessageKind,
    title: Option<Box<str>>,
    template: Template,
}

/// A message that was chosen.
pub(super) struct Chosen<'a> {
    pub(super) tag: &'a Tag,
    pub(super) template: &'a Template,
}

impl Messages {
    /// No message in any language: for what a rule says in place of others.
    #[must_use]
    pub const fn none() -> Self {
        Self(Vec::new())
    }

    /// Sets the message of this kind in this language, and with it the title of its problem; without one it keeps the title that
    /// there is.
    ///
    /// # Errors
    /// [`PresentationError::Language`] where `tag` is no language tag (BCP 47), such as `fr` or `es-MX`.
    pub fn set(
        &mut self,
        tag: &str,
        kind: MessageKind,
        title: Option<&str>,
        template: Template,
    ) -> Result<(), PresentationError> {
        let tag = Tag::parse(tag)?;
        let index = self.0.iter().position(|language| language.tag == tag);
        let index = index.unwrap_or_else(|| {
            let words = Words::of(tag.as_str());
            self.0.push(Language { tag, words, texts: Vec::new() });
            self.0.len().saturating_sub(1)
        });
        let Some(language) = self.0.get_mut(index) else { return Ok(()) };
        let title = title.map(Into::into);
        match language.texts.iter_mut().find(|text| text.kind == kind) {
            Some(text) => {
                text.template = template;
                text.title = title.or_else(|| text.title.take());
            }
            None => language.texts.push(Text { kind, title, template }),
        }
        Ok(())
    }

    /// The languages that have a message of this kind.
    pub(super) fn of(&self, kind: MessageKind) -> impl Iterator<Item = Chosen<'_>> + Clone {
        self.0.iter().filter_map(move |language| {
            let text = language.texts.iter().find(|text| text.kind == kind)?;
            Some(Chosen { tag: &language.tag, template: &text.template })
        })
    }

    /// The title of this kind in the language `tag`, else in the language that it is a variety of, else in English.
    pub(super) fn title(&self, tag: &Tag, kind: MessageKind) -> &str {
        let title = |tag: &str| {
            let language = self.0.iter().find(|language| language.tag.as_str().eq_ignore_ascii_case(tag))?;
            language.texts.iter().find(|text| text.kind == kind)?.title.as_deref()
        };
        title(tag.as_str()).or_else(|| title(tag.primary())).or_else(|| title("en")).unwrap_or_default()
    }

    pub(crate) fn has(&self, tag: &str) -> bool {
        self.0.iter().any(|language| language.tag.as_str().eq_ignore_ascii_case(tag))
    }
}

impl Chosen<'_> {
    pub(super) fn words(&self) -> Words {
        Words::of(self.tag.as_str())
    }
}

/// The languages that are there from the beginning: kind, title, text.
type BuiltIn = [(MessageKind, &'static str, &'static str); 6];

const ENGLISH: BuiltIn = [
    (
        MessageKind::Exceeded,
        "Quota Exceeded",
        "Too many requests: the limit `{rule}` is used up. Try again in {retry_after}.",
    ),
    (
        MessageKind::Impossible,
        "Quota Exceeded",
        "The limit `{rule}` can never admit this request: it costs more than the limit can hold. Waiting does not help.",
    ),
    (MessageKind::Missing, "Forbidden", "The request lacks what the limit `{rule}` counts by: {key}."),
    (MessageKind::Blocked, "Blocked", "Requests like this one are blocked here. Waiting does not help."),
    (
        MessageKind::BadCredentials,
        "Invalid Token",
        "The token of this request is not valid here: get a new one, or send the request without a token.",
    ),
    (
        MessageKind::Unavailable,
        "Temporary Reduced Capacity",
        "The limits cannot be checked right now. Try again in a moment.",
    ),
];

const SPANISH: BuiltIn = [
    (
        MessageKind::Exceeded,
        "Cuota agotada",
        "Demasiadas solicitudes: el límite `{rule}` está agotado. Inténtelo de nuevo en {retry_after}.",
    ),
    (
        MessageKind::Impossible,
        "Cuota agotada",
        "El límite `{rule}` nunca puede admitir esta solicitud: cuesta más de lo que cabe en él. Esperar no ayuda.",
    ),
    (
        MessageKind::Missing,
        "Prohibido",
        "A la solicitud le falta aquello por lo que cuenta el límite `{rule}`: {key}.",
    ),
    (MessageKind::Blocked, "Bloqueado", "Aquí se bloquean las solicitudes como esta. Esperar no ayuda."),
    (
        MessageKind::BadCredentials,
        "Token no válido",
        "El token de esta solicitud no es válido aquí: obtenga uno nuevo, o envíe la solicitud sin token.",
    ),
    (
        MessageKind::Unavailable,
        "Capacidad reducida temporalmente",
        "Ahora no se pueden comprobar los límites. Inténtelo de nuevo en un momento.",
    ),
];

impl Default for Messages {
    fn default() -> Self {
        let mut messages = Self::none();
        for (tag, texts) in [("en", ENGLISH), ("es", SPANISH)] {
            for (kind, title, text) in texts {
                // A test sets every one of them.
                if let Ok(template) = Template::parse(text, kind) {
                    let _ = messages.set(tag, kind, Some(title), template);
                }
            }
        }
        messages
    }
}

#[cfg(test)]
mod tests {
    use super::{MessageKind, Messages, Tag, Template};

    #[test]
    fn both_languages_have_every_message() {
        let messages = Messages::default();
        for kind in MessageKind::ALL {
            let tags: Vec<_> = messages.of(*kind).map(|chosen| chosen.tag.as_str()).collect();
            assert_eq!(tags, ["en", "es"], "{kind:?}");
            for tag in tags {
                assert!(!messages.title(&Tag::parse(tag).unwrap(), *kind).is_empty());
            }
        }
    }

    #[test]
    fn a_policy_replaces_and_adds() {
        let mut messages = Messages::default();
        let text = |text| Template::parse(text, MessageKind::Exceeded).unwrap();
        messages.set("EN", MessageKind::Exceeded, None, text("No.")).unwrap();
        messages.set("es-MX", MessageKind::Exceeded, None, text("No, pues.")).unwrap();
        messages.set("fr", MessageKind::Exceeded, Some("Quota épuisé"), text("Non.")).unwrap();
        assert!(messages.set("french", MessageKind::Exceeded, None, text("")).is_err());
        let tags: Vec<_> = messages.of(MessageKind::Exceeded).map(|chosen| chosen.tag.as_str()).collect();
        assert_eq!(tags, ["en", "es", "es-MX", "fr"]);
        for (tag, title) in [
            ("en", "Quota Exceeded"),
            ("es-mx", "Cuota agotada"),
            ("fr", "Quota épuisé"),
            ("de", "Quota Exceeded"),
        ] {
            assert_eq!(messages.title(&Tag::parse(tag).unwrap(), MessageKind::Exceeded), title, "{tag}");
        }
    }
}
