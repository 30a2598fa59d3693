//! Why a request is refused, in words.

use std::fmt::Write as _;

use cupo_core::{Outcome, Rule};

/// Why a request is refused.
pub(super) enum Reason<'a> {
    /// There is no room now.
    Exceeded {
        /// The denial.
        outcome: &'a Outcome,
        /// The wait as `Retry-After` says it.
        seconds: u64,
    },
    /// There never is room.
    Impossible {
        /// The denial.
        outcome: &'a Outcome,
    },
    /// The request lacks what the rule counts by.
    Lacks {
        /// The rule.
        rule: &'a Rule,
    },
    /// The policy says that the request does not pass.
    Blocked,
    /// The credentials do not hold.
    BadCredentials,
    /// The store could not decide.
    Unavailable,
}

/// The languages that messages are written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Language {
    English,
    Spanish,
}

impl Language {
    pub(super) const fn tag(self) -> &'static str {
        match self {
            Self::English => "en",
            Self::Spanish => "es",
        }
    }
}

impl Reason<'_> {
    /// The sentence for people.
    pub(super) fn message(&self, language: Language) -> String {
        let mut text = String::with_capacity(128);
        // Writing into a string does not fail.
        let _ = match language {
            Language::English => self.english(&mut text),
            Language::Spanish => self.spanish(&mut text),
        };
        text
    }

    fn english(&self, text: &mut String) -> std::fmt::Result {
        match self {
            Self::Exceeded { outcome, seconds } => {
                let unit = if *seconds == 1 { "second" } else { "seconds" };
                let rule = binding(outcome);
                write!(
                    text,
                    "Too many requests: the limit `{rule}` is used up. Try again in {seconds} {unit}."
                )
            }
            Self::Impossible { outcome } => write!(
                text,
                "The limit `{}` can never admit this request: it costs more than the limit can hold. Waiting does not help.",
                binding(outcome)
            ),
            Self::Lacks { rule } => {
                write!(text, "The request lacks what the limit `{}` counts by: {}.", rule.name(), rule.key())
            }
            Self::Blocked => text.write_str("Requests like this one are blocked here. Waiting does not help."),
            Self::BadCredentials => text.write_str(
                "The token of this request is not valid here: get a new one, or send the request without a token.",
            ),
            Self::Unavailable => {
                write!(text, "The limits cannot be checked right now. Try again in a moment.")
            }
        }
    }

    fn spanish(&self, text: &mut String) -> std::fmt::Result {
        match self {
            Self::Exceeded { outcome, seconds } => {
                let unit = if *seconds == 1 { "segundo" } else { "segundos" };
                let rule = binding(outcome);
                write!(
                    text,
                    "Demasiadas solicitudes: el límite `{rule}` está agotado. Inténtelo de nuevo en {seconds} {unit}."
                )
            }
            Self::Impossible { outcome } => write!(
                text,
                "El límite `{}` nunca puede admitir esta solicitud: cuesta más de lo que cabe en él. Esperar no ayuda.",
                binding(outcome)
            ),
            Self::Lacks { rule } => write!(
                text,
                "A la solicitud le falta aquello por lo que cuenta el límite `{}`: {}.",
                rule.name(),
                rule.key()
            ),
            Self::Blocked => {
                text.write_str("Aquí se bloquean las solicitudes como esta. Esperar no ayuda.")
            }
            Self::BadCredentials => text.write_str(
                "El token de esta solicitud no es válido aquí: obtenga uno nuevo, o envíe la solicitud sin token.",
            ),
            Self::Unavailable => {
                write!(text, "Ahora no se pueden comprobar los límites. Inténtelo de nuevo en un momento.")
            }
        }
    }
}

fn binding(outcome: &Outcome) -> &str {
    outcome.binding().map_or("", |ruling| ruling.rule.name())
}
