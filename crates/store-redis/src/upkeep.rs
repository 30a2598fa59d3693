//! What administrators ask of the store.

use core::time::Duration;

use cupo_core::{
    Block, BlockChange, BlockList, CheckItem, Granted, Key, MOST_BLOCKS, StoreError, Timestamp, Upkeep,
};
use redis::Value;
use tokio::time::Instant;

use crate::codec::{Call, Line, NOT_UNDERSTOOD};
use crate::name::Name;
use crate::script::Script;
use crate::store::RedisStore;

impl Upkeep for RedisStore {
    async fn reset(&self, key: &Key) -> Result<bool, StoreError> {
        Self::reset(self, key).await
    }

    async fn grant(&self, item: &CheckItem, now: Timestamp) -> Result<Granted, StoreError> {
        let inner = &self.inner;
        let line = Line::new(item, &inner.naming);
        let call = Call::grant(&line, inner.caller_clock(now));
        let answer = self.ask(&line.name, &inner.scripts.grant, &call).await;
        self.forget_denial(&item.key);
        granted(&answer?, item).ok_or(NOT_UNDERSTOOD)
    }

    async fn block(
        &self,
        key: &Key,
        span: Option<Duration>,
        now: Timestamp,
    ) -> Result<BlockChange, StoreError> {
        let inner = &self.inner;
        let key = key.without_limit();
        let (command, millis) = match span.map(|span| u64::try_from(span.as_millis()).unwrap_or(u64::MAX)) {
            Some(millis) if millis > 0 => (&b"block"[..], millis),
            _ => (&b"unblock"[..], 0),
        };
        let name = inner.naming.name_of_blocks();
        let most = u64::try_from(MOST_BLOCKS).unwrap_or(u64::MAX);
        let call = Call::new(&name, &[command, key.as_bytes()], &[millis, most], inner.caller_clock(now));
        match self.ask(&name, &inner.scripts.blocks, &call).await? {
            Value::Int(-2) => Ok(BlockChange::Full),
            Value::Int(-1) => Ok(BlockChange::Done(None)),
            Value::Int(before) => {
                let before = u64::try_from(before).map_err(|_| NOT_UNDERSTOOD)?;
                Ok(BlockChange::Done(Some(Duration::from_millis(before))))
            }
            _ => Err(NOT_UNDERSTOOD),
        }
    }

    async fn blocks(&self, known: Option<u64>, now: Timestamp) -> Result<Option<BlockList>, StoreError> {
        let inner = &self.inner;
        let name = inner.naming.name_of_blocks();
        let known = known.map_or_else(String::new, |known| known.to_string());
        let call = Call::new(&name, &[b"read", known.as_bytes()], &[], inner.caller_clock(now));
        list(&self.ask(&name, &inner.scripts.blocks, &call).await?).ok_or(NOT_UNDERSTOOD)
    }
}

impl RedisStore {
    async fn ask(&self, name: &Name, script: &Script, call: &Call) -> Result<Value, StoreError> {
        let inner = &self.inner;
        if let Some(error) = inner.topology.refuses(name.slot) {
            return Err(error);
        }
        let until = Instant::now() + inner.settings.deadline;
        inner.topology.call(name.slot, script, call, until).await
    }
}

/// What the script says of a grant.
fn granted(value: &Value, item: &CheckItem) -> Option<Granted> {
    let Value::BulkString(bytes) = value else { return None };
    let mut numbers = bytes
        .chunks_exact(7)
        .map(|chunk| chunk.iter().fold(0_u64, |number, &byte| number << 8 | u64::from(byte)));
    let (at, before, after) = (numbers.next()?, numbers.next()?, numbers.next()?);
    let sound = bytes.len() == 21 && before <= after && after <= item.limit.quota();
    sound.then_some(Granted { at: Timestamp::from_micros(at), before, after })
}

/// What the script says of the blocks: the outer `None` where it is not understood.
fn list(value: &Value) -> Option<Option<BlockList>> {
    let Value::Array(parts) = value else { return None };
    match parts.as_slice() {
        [_] => Some(None),
        [version, now, Value::Array(pairs)] => {
            let (version, now) = (number(version)?, number(now)?);
            let mut blocks = Vec::new();
            for pair in pairs.chunks_exact(2) {
                let [Value::BulkString(key), finish] = pair else { return None };
                // Whoever wrote something else there blocks nobody by it.
                if let (Some(key), Some(finish)) = (Key::from_canonical(key), number(finish))
                    && finish > now
                {
                    blocks.push(Block { key, left: Duration::from_millis(finish.saturating_sub(now)) });
                }
            }
            blocks.sort_unstable_by(|a, b| a.key.cmp(&b.key));
            Some(Some(BlockList { version, blocks }))
        }
        _ => None,
    }
}

fn number(value: &Value) -> Option<u64> {
    let Value::BulkString(digits) = value else { return None };
    core::str::from_utf8(digits).ok()?.parse().ok()
}
