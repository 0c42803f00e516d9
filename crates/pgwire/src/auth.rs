//! Authentication: the user that a client names, and its proof.

use crate::backend::Host;
use crate::channel::{Channel, Tls, Transport};
use crate::decode::utf8;
use crate::inbox::{Inbox, ReadError, uncounted};
use crate::limits::MAX_AUTH_BYTES;
use crate::outbox::Outbox;
use crate::report::{Report, SqlState};
use crate::scram::Exchange;
use crate::startup::{Startup, Stop};
use std::borrow::Cow;

/// What a client must prove.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Nothing.
    Trust,
    /// The password, sent as it is. For clients that cannot do better, over TLS.
    Password,
    /// Knowledge of the password, by SCRAM-SHA-256.
    Scram,
}

const OK: i32 = 0;
const CLEARTEXT: i32 = 3;
const SASL: i32 = 10;
const SASL_CONTINUE: i32 = 11;
const SASL_FINAL: i32 = 12;

const SCRAM: &str = "SCRAM-SHA-256";
const SCRAM_PLUS: &str = "SCRAM-SHA-256-PLUS";

/// Lets the client authenticate; returns when it has.
///
/// # Errors
///
/// The client failed to authenticate, or is gone.
pub(crate) fn authenticate<T: Transport, H: Host>(
    channel: &mut Channel<T>,
    inbox: &mut Inbox,
    out: &mut Outbox,
    host: &H,
    startup: &Startup,
) -> Result<(), Stop> {
    match host.method(startup)? {
        Method::Trust => {}
        Method::Password => {
            out.authentication(CLEARTEXT, &[]);
            out.flush(channel)?;
            let body = password_message(channel, inbox)?;
            let password = body.strip_suffix(b"\0").filter(|password| !password.contains(&0));
            let password = password.ok_or_else(|| protocol("invalid password packet size"))?;
            let password = utf8(password).map_err(Report::into_fatal)?;
            if !host.verifier(&startup.user).fits(password) {
                return Err(wrong(startup));
            }
        }
        Method::Scram => scram(channel, inbox, out, host, startup)?,
    }
    out.authentication(OK, &[]);
    Ok(())
}

fn scram<T: Transport, H: Host>(
    channel: &mut Channel<T>,
    inbox: &mut Inbox,
    out: &mut Outbox,
    host: &H,
    startup: &Startup,
) -> Result<(), Stop> {
    let tls = if channel.is_encrypted() { host.tls() } else { None };
    let end_point = tls.and_then(|tls: &Tls| tls.end_point.clone());
    let mut mechanisms = Vec::new();
    if end_point.is_some() {
        mechanisms.extend_from_slice(SCRAM_PLUS.as_bytes());
        mechanisms.push(0);
    }
    mechanisms.extend_from_slice(SCRAM.as_bytes());
    mechanisms.extend_from_slice(&[0, 0]);
    out.authentication(SASL, &mechanisms);
    out.flush(channel)?;

    // SASLInitialResponse: the mechanism, then the first message with its length
    let body = password_message(channel, inbox)?;
    let end = body.iter().position(|byte| *byte == 0).ok_or_else(|| protocol("invalid SASL response"))?;
    let (mechanism, rest) = (&body[..end], &body[end + 1..]);
    let (length, first) = rest.split_at_checked(4).ok_or_else(|| protocol("invalid SASL response"))?;
    let length = i32::from_be_bytes([length[0], length[1], length[2], length[3]]);
    if usize::try_from(length) != Ok(first.len()) {
        return Err(protocol("invalid SASL response"));
    }
    let bound = mechanism == SCRAM_PLUS.as_bytes() && end_point.is_some();
    if !bound && mechanism != SCRAM.as_bytes() {
        return Err(protocol("client selected an invalid SASL authentication mechanism"));
    }
    let verifier = host.verifier(&startup.user);
    let binding = end_point.as_deref().filter(|_| bound);
    let (exchange, answer) = Exchange::start(verifier, first, binding, end_point.is_some())?;
    out.authentication(SASL_CONTINUE, answer.as_bytes());
    out.flush(channel)?;

    let body = password_message(channel, inbox)?;
    let answer = exchange.finish(body)?.ok_or_else(|| wrong(startup))?;
    out.authentication(SASL_FINAL, answer.as_bytes());
    Ok(())
}

fn password_message<'a, T: Transport>(
    channel: &mut Channel<T>,
    inbox: &'a mut Inbox,
) -> Result<&'a [u8], Stop> {
    let frame = inbox.next(channel, |tag| (tag == b'p').then_some(MAX_AUTH_BYTES), &mut uncounted).map_err(
        |error| match error {
            ReadError::Tag(tag) => protocol(format!("expected password response, got message type {tag}")),
            ReadError::Length(_) => protocol("invalid password packet size"),
            gone => gone.into(),
        },
    )?;
    Ok(inbox.bytes(&frame.body))
}

fn protocol(what: impl Into<Cow<'static, str>>) -> Stop {
    Report::fatal(SqlState::PROTOCOL_VIOLATION, what).into()
}

fn wrong(startup: &Startup) -> Stop {
    let what = format!("password authentication failed for user \"{}\"", startup.user);
    Report::fatal(SqlState::INVALID_PASSWORD, what).into()
}
