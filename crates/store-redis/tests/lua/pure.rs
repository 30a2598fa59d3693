//! The functions that decide, under an embedded Lua 5.1.

use cupo_core::algorithm::{
    Params, State, ending_window, fixed_window, leaky_bucket, sliding_window_counter, sliding_window_log,
    token_bucket,
};
use cupo_core::number::DOMAIN;
use cupo_core::{Decision, Verdict};
use cupo_testkit::model::definition::quota;
use mlua::{Function, Lua, MultiValue, Table, Value};

use crate::scripts;

/// What the files are called with, from outside.
const EXPORTS: &str = "
local functions = {}
functions.fixed_window_decide, functions.fixed_window_expires_at, functions.fixed_window_refund = fixed_window()
functions.ending_window_decide, functions.ending_window_expires_at, functions.ending_window_refund = ending_window()
functions.sliding_window_log_decide = sliding_window_log()
functions.sliding_window_counter_decide, functions.sliding_window_counter_expires_at, functions.sliding_window_counter_refund =
  sliding_window_counter()
functions.token_bucket_decide, functions.token_bucket_expires_at, functions.token_bucket_refund = token_bucket()
functions.leaky_bucket_decide, functions.leaky_bucket_expires_at, functions.leaky_bucket_cancel = leaky_bucket()
functions.floor_div, functions.ceil_div, functions.saturating_sub = floor_div, ceil_div, saturating_sub
functions.max, functions.min = max, min
functions.entries = function(at, cost) return function(n) return at[n], cost[n] end end
local globals, setmetatable, error = _G, setmetatable, error
for name in pairs(globals) do globals[name] = nil end
local function refuse(_, name) error('global ' .. name) end
setmetatable(globals, { __index = refuse, __newindex = refuse })
return functions";

/// A Lua state with the functions in it, and no globals at all.
pub(crate) struct Pure {
    lua: Lua,
    functions: Table,
}

type Numbers = Vec<Option<u64>>;

impl Pure {
    pub(crate) fn new() -> Self {
        let lua = Lua::new();
        let functions = lua.load(format!("{}{EXPORTS}", scripts::pure())).eval().unwrap();
        Self { lua, functions }
    }

    /// Calls a function with numbers; what it returns are whole numbers in the domain.
    pub(crate) fn call(&self, name: &str, arguments: &[Option<u64>]) -> Numbers {
        self.call_with(name, arguments.iter().copied().map(number).collect())
    }

    fn call_with(&self, name: &str, arguments: MultiValue) -> Numbers {
        let function: Function = self.functions.get(name).unwrap();
        let shown = format!("{name}{arguments:?}");
        let results: MultiValue = function.call(arguments).unwrap_or_else(|error| panic!("{shown}: {error}"));
        let whole = |value: Value| match value {
            Value::Nil => None,
            Value::Integer(n) if (0..DOMAIN).contains(&n.cast_unsigned()) => Some(n.cast_unsigned()),
            other => panic!("{shown} returned {other:?}"),
        };
        results.into_iter().map(whole).collect()
    }

    /// The decision, and the whole new state if the request is charged.
    pub(crate) fn decide(
        &self,
        params: &Params,
        state: Option<&State>,
        now: u64,
        cost: u64,
    ) -> (Decision<u64>, Option<State>) {
        // What cannot be sent exactly is more than any limit holds, and so is what is sent for it.
        let cost = cost.min(DOMAIN);
        if let Params::SlidingWindowLog(p) = params {
            return self.decide_log(p, state, now, cost);
        }
        let [a, b, c] = numbers(params);
        let (one, two, three) = match state {
            Some(State::FixedWindow(s)) => (Some(s.start), Some(s.count), None),
            Some(State::EndingWindow(s)) => (Some(s.end), Some(s.count), None),
            Some(State::SlidingWindowCounter(s)) => (Some(s.start), Some(s.previous), Some(s.current)),
            Some(State::TokenBucket(s)) => (Some(s.missing), Some(s.at), None),
            Some(State::LeakyBucket(s)) => (Some(s.backlog), Some(s.at), None),
            Some(State::SlidingWindowLog(_)) => panic!("the shell lets no log through"),
            None => (None, None, None),
        };
        // What a window that is open does not ask for.
        let finish = match params {
            Params::EndingWindow(p) if one.is_none_or(|seen| seen <= now) => Some(p.end(now)),
            _ => None,
        };
        let (now, cost) = (Some(now), Some(cost));
        let (name, arguments): (_, &[_]) = match params {
            Params::FixedWindow(_) => ("fixed_window_decide", &[a, b, one, two, now, cost]),
            Params::EndingWindow(_) => ("ending_window_decide", &[a, b, finish, one, two, now, cost]),
            Params::SlidingWindowCounter(_) => {
                ("sliding_window_counter_decide", &[a, b, one, two, three, now, cost])
            }
            Params::TokenBucket(_) => ("token_bucket_decide", &[a, b, c, one, two, now, cost]),
            _ => ("leaky_bucket_decide", &[a, b, c, one, two, now, cost]),
        };
        let reply = self.call(name, arguments);
        let [one, two, three] = [5, 6, 7].map(|i| reply.get(i).copied().flatten());
        let next = one.map(|one| {
            let two = two.unwrap();
            match params {
                Params::FixedWindow(_) => State::FixedWindow(fixed_window::State { start: one, count: two }),
                Params::EndingWindow(_) => State::EndingWindow(ending_window::State { end: one, count: two }),
                Params::SlidingWindowCounter(_) => {
                    let current = three.unwrap();
                    State::SlidingWindowCounter(sliding_window_counter::State {
                        start: one,
                        previous: two,
                        current,
                    })
                }
                Params::TokenBucket(_) => State::TokenBucket(token_bucket::State { missing: one, at: two }),
                _ => State::LeakyBucket(leaky_bucket::State { backlog: one, at: two }),
            }
        });
        (decision(params, &reply), next)
    }

    fn decide_log(
        &self,
        params: &sliding_window_log::Params,
        state: Option<&State>,
        now: u64,
        cost: u64,
    ) -> (Decision<u64>, Option<State>) {
        let mut entries: Vec<sliding_window_log::Entry> = match state {
            Some(State::SlidingWindowLog(log)) => log.entries().collect(),
            _ => Vec::new(),
        };
        let column = |of: fn(&sliding_window_log::Entry) -> u64| {
            self.lua.create_sequence_from(entries.iter().map(|e| number(Some(of(e))))).unwrap()
        };
        let function: Function = self.functions.get("entries").unwrap();
        let entry: Value = function.call((column(|e| e.at), column(|e| e.cost))).unwrap();
        let total = entries.iter().map(|e| e.cost).sum();
        let newest = entries.last().map(|e| e.at);
        let [limit, window, total, newest, now, cost_now] =
            [Some(params.count), Some(params.window), Some(total), newest, Some(now), Some(cost)].map(number);
        let arguments = MultiValue::from_vec(vec![limit, window, entry, total, newest, now, cost_now]);
        let reply = self.call_with("sliding_window_log_decide", arguments);
        let next = reply.get(7).copied().flatten().map(|at| {
            let expired = usize::try_from(reply[5].unwrap()).unwrap();
            let freed: u64 = entries.drain(..expired).map(|e| e.cost).sum();
            assert_eq!(reply[6], Some(freed), "{params:?}");
            match entries.last_mut().filter(|newest| newest.at == at) {
                Some(newest) => newest.cost += cost,
                None => entries.push(sliding_window_log::Entry { at, cost }),
            }
            State::SlidingWindowLog(sliding_window_log::State::from_entries(entries))
        });
        (decision(&Params::SlidingWindowLog(*params), &reply), next)
    }

    /// When a state is at rest; a log's shell says so itself.
    pub(crate) fn expires_at(&self, params: &Params, state: &State) -> Option<u64> {
        let [a, b, c] = numbers(params);
        let (name, arguments): (_, &[_]) = match state {
            State::FixedWindow(s) => ("fixed_window_expires_at", &[a, b, Some(s.start), Some(s.count)]),
            State::EndingWindow(s) => ("ending_window_expires_at", &[Some(s.end), Some(s.count)]),
            State::SlidingWindowCounter(s) => {
                let [start, previous, current] = [s.start, s.previous, s.current].map(Some);
                ("sliding_window_counter_expires_at", &[a, b, start, previous, current])
            }
            State::TokenBucket(s) => ("token_bucket_expires_at", &[a, b, c, Some(s.missing), Some(s.at)]),
            State::LeakyBucket(s) => ("leaky_bucket_expires_at", &[a, b, c, Some(s.backlog), Some(s.at)]),
            State::SlidingWindowLog(_) => return None,
        };
        self.call(name, arguments)[0]
    }

    pub(crate) fn cancel(
        &self,
        params: &leaky_bucket::Params,
        state: &leaky_bucket::State,
        now: u64,
        cost: u64,
        end: u64,
    ) -> Option<leaky_bucket::State> {
        let leaky_bucket::Params { rate, period, queue } = *params;
        let arguments = [rate, period, queue, state.backlog, state.at, now, cost, end].map(Some);
        let reply = self.call("leaky_bucket_cancel", &arguments);
        reply[0].map(|backlog| leaky_bucket::State { backlog, at: reply[1].unwrap() })
    }
}

#[allow(clippy::cast_precision_loss, reason = "numbers of the domain are exact, and 2^53 is")]
fn number(n: Option<u64>) -> Value {
    n.map_or(Value::Nil, |n| Value::Number(n as f64))
}

/// The three numbers of a limit as the shell gives them.
fn numbers(params: &Params) -> [Option<u64>; 3] {
    match params {
        Params::FixedWindow(p) => [p.count, p.window, 0],
        Params::EndingWindow(p) => [p.count, p.longest(), 0],
        Params::SlidingWindowLog(p) => [p.count, p.window, 0],
        Params::SlidingWindowCounter(p) => [p.count, p.window, 0],
        Params::TokenBucket(p) => [p.capacity, p.refill, p.period],
        Params::LeakyBucket(p) => [p.rate, p.period, p.queue],
    }
    .map(Some)
}

fn decision(params: &Params, reply: &[Option<u64>]) -> Decision<u64> {
    let [verdict, retry_after, remaining, reset_after, delay] = [0, 1, 2, 3, 4].map(|i| reply[i].unwrap());
    let verdict = match (verdict, retry_after) {
        (0, 0) => Verdict::Admit,
        (1, 1..) => Verdict::Deny { retry_after },
        (2, 0) => Verdict::Impossible,
        other => panic!("no verdict: {other:?} {params:?}"),
    };
    let limit = u64::try_from(quota(params)).unwrap();
    Decision { verdict, limit, remaining, reset_after, delay }
}
