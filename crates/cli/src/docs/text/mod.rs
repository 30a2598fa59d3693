//! What the page says, in one place per language.

mod en;
mod es;

pub(super) use en::ENGLISH;
pub(super) use es::SPANISH;

/// The words of a language. In templates `{name}` is a value, and what stands between backticks is code.
pub(super) struct Texts {
    /// The language's tag.
    pub(super) tag: &'static str,
    /// What stands between groups of three digits, and the fewest digits that are grouped.
    pub(super) thousands: (&'static str, usize),
    /// Units of time, the longest first: day, hour, minute, second, millisecond; one and several.
    pub(super) units: [[&'static str; 2]; 5],
    pub(super) or: &'static str,
    pub(super) and: &'static str,
    /// Where what stands before has alternatives.
    pub(super) and_also: &'static str,
    pub(super) or_else: &'static str,

    pub(super) title: &'static str,
    pub(super) contents: &'static str,
    pub(super) intro: &'static str,
    pub(super) all_or_none: &'static str,
    pub(super) nothing: &'static str,
    pub(super) footer: &'static str,

    pub(super) limits: &'static str,
    pub(super) limit: &'static str,
    pub(super) applies: &'static str,
    pub(super) counted: &'static str,
    pub(super) allowed: &'static str,
    pub(super) takes: &'static str,
    pub(super) units_of: &'static str,
    pub(super) cost: Cost,
    pub(super) applies_to: Applies,
    pub(super) per: Per,
    pub(super) amount: Amount,
    pub(super) plans: Plans,
    pub(super) periods: Periods,
    pub(super) identity: Identity,
    pub(super) headers: Headers,
    pub(super) excess: Excess,
    pub(super) status: Status,
    pub(super) others: Others,
}

/// Which requests a limit is about.
pub(super) struct Applies {
    pub(super) everything: &'static str,
    pub(super) on_hosts: &'static str,
    pub(super) on_plans: &'static str,
    pub(super) certain: &'static str,
    pub(super) certain_ones: &'static str,
    pub(super) exceptions: &'static str,
}

/// What a request takes, where that is not always the same.
pub(super) struct Cost {
    pub(super) response: &'static str,
    pub(super) request: &'static str,
    pub(super) body: &'static str,
    pub(super) on_response: &'static str,
}

/// What a limit counts by.
pub(super) struct Per {
    pub(super) global: &'static str,
    pub(super) ip: &'static str,
    pub(super) api_key: &'static str,
    pub(super) user: &'static str,
    pub(super) route: &'static str,
    pub(super) method: &'static str,
    pub(super) host: &'static str,
    pub(super) header: &'static str,
    pub(super) query: &'static str,
    pub(super) cookie: &'static str,
    pub(super) claim: &'static str,
    pub(super) descriptor: &'static str,
}

/// How much is allowed.
pub(super) struct Amount {
    pub(super) unlimited: &'static str,
    pub(super) none: &'static str,
    /// Of one unit of time, and of several.
    pub(super) rate: &'static str,
    pub(super) rate_of: &'static str,
    pub(super) from_first: &'static str,
    pub(super) calendar: &'static str,
    pub(super) bucket: &'static str,
    pub(super) spaced: &'static str,
    pub(super) queued: &'static str,
    /// Hour, day, week and month of a calendar.
    pub(super) calendar_units: [&'static str; 4],
}

pub(super) struct Plans {
    pub(super) title: &'static str,
    pub(super) default: &'static str,
    pub(super) agreed: &'static str,
}

/// How each way of counting goes.
pub(super) struct Periods {
    pub(super) title: &'static str,
    pub(super) sliding: &'static str,
    pub(super) clock: &'static str,
    pub(super) from_first: &'static str,
    pub(super) calendar: &'static str,
    pub(super) bucket: &'static str,
    pub(super) spaced: &'static str,
    pub(super) delayed: &'static str,
    pub(super) cost: &'static str,
    /// Monday to Sunday.
    pub(super) week_starts: &'static str,
    pub(super) weekdays: [&'static str; 7],
}

/// Who is counted.
pub(super) struct Identity {
    pub(super) title: &'static str,
    pub(super) api_key: &'static str,
    pub(super) token: &'static str,
    pub(super) user: &'static str,
    pub(super) ip: &'static str,
    pub(super) route: &'static str,
    pub(super) shared: &'static str,
    pub(super) skipped: &'static str,
    pub(super) denied: &'static str,
}

pub(super) struct Headers {
    pub(super) title: &'static str,
    pub(super) intro: &'static str,
    pub(super) none: &'static str,
    pub(super) name: &'static str,
    pub(super) example: &'static str,
    pub(super) meaning: &'static str,
    pub(super) limit: &'static str,
    pub(super) remaining: &'static str,
    pub(super) reset_epoch: &'static str,
    pub(super) reset_delta: &'static str,
    pub(super) policy: &'static str,
    pub(super) state: &'static str,
    pub(super) retry_after: &'static str,
    pub(super) own: &'static str,
    pub(super) response: &'static str,
}

/// What to do when a limit is exceeded.
pub(super) struct Excess {
    pub(super) title: &'static str,
    pub(super) wait: &'static str,
    pub(super) jitter: &'static str,
    pub(super) forms: &'static str,
    pub(super) refused: &'static str,
    pub(super) clients: &'static str,
    pub(super) clients_intro: &'static str,
    pub(super) curl: &'static str,
    pub(super) python: &'static str,
    pub(super) rust: &'static str,
    pub(super) own_status: &'static str,
}

pub(super) struct Status {
    pub(super) title: &'static str,
    pub(super) intro: &'static str,
    pub(super) ask: &'static str,
    pub(super) answer: &'static str,
}

/// Other refusals.
pub(super) struct Others {
    pub(super) title: &'static str,
    pub(super) status: &'static str,
    pub(super) when: &'static str,
    pub(super) missing: &'static str,
    pub(super) token: &'static str,
    pub(super) unavailable: &'static str,
}
