//! One end of a link: what is sent arrives, and once, over a transport that loses, repeats and reorders.
//!
//! ```text
//!   send    ──►  number it, keep it  ──►  frame  ~~~ transport ~~~►  known number?  ──►  receive hands it out
//!   acknowledged up to here  ◄──  frame of the other direction, or one of its own at the next tick
//!   tick    ──►  what was sent long ago and is not acknowledged goes again
//! ```
//!
//! A link joins two *incarnations* of nodes, and no others: a node that has lost its memory is a new incarnation, and
//! messages for the old one are not delivered to it. Messages are handed out as they arrive, not in the order in which
//! they were sent: the protocol needs no order, and a late message delays no other. A transport that keeps the order
//! delivers them in order.
//!
//! There is no I/O here and no clock: the owner carries frames and calls [`Link::tick`].

use serde::{Deserialize, Serialize};
use std::collections::{BTreeSet, VecDeque};
use std::fmt;

/// An incarnation of a node, from its start to its end. A later one has a larger number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub struct Incarnation(pub u64);

impl fmt::Debug for Incarnation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "i{}", self.0)
    }
}

/// What goes over the transport.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Frame<M> {
    /// Who sends it.
    pub from: Incarnation,
    /// Whom it is for, if the sender knows.
    pub to: Option<Incarnation>,
    /// All messages up to this number have arrived at the sender.
    pub acknowledged: u64,
    /// The rest of it.
    pub content: Content<M>,
}

/// What a frame carries.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Content<M> {
    /// Asks for the peer's incarnation, and for what has arrived there.
    Hello,
    /// Nothing else.
    Acknowledgement,
    /// A message and its number, from 1.
    Message(u64, M),
}

/// What a link may keep, and when it repeats.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Limits {
    /// Messages that are not acknowledged; at most [`Limits::WINDOW`] count.
    pub messages: usize,
    /// Their size together, as the owner says.
    pub bytes: usize,
    /// A message goes again after so many ticks. None: only after [`Link::reconnect`], for a transport that loses
    /// nothing while it lasts.
    pub patience: Option<u32>,
}

impl Limits {
    /// Numbers that are further than this from what was acknowledged are not sent, and not taken.
    pub const WINDOW: usize = 1 << 16;
}

/// Why a link has failed. It stays failed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Failure {
    /// The peer has not acknowledged for too long: more is waiting for it than is allowed.
    Full,
    /// The peer is a newer incarnation.
    Restarted(Incarnation),
    /// The peer has heard of a newer incarnation of this node.
    Superseded(Incarnation),
    /// The peer has acknowledged a message that was not sent, or used an impossible number.
    Nonsense,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full => f.write_str("too much waits for an acknowledgement"),
            Self::Restarted(now) => write!(f, "the peer has restarted, as incarnation {}", now.0),
            Self::Superseded(now) => write!(f, "the peer knows incarnation {} of this node", now.0),
            Self::Nonsense => f.write_str("the peer breaks the rules of the link"),
        }
    }
}

impl std::error::Error for Failure {}

/// Messages that go again at one tick, at most.
const BURST: usize = 64;

/// After so many messages an acknowledgement does not wait for the tick.
const ACKNOWLEDGE_AFTER: usize = 64;

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Unacknowledged<M> {
    message: M,
    size: usize,
    /// The tick at which it was last sent.
    sent: u64,
}

/// One end of a link.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Link<M> {
    limits: Limits,
    here: Incarnation,
    there: Option<Incarnation>,
    /// The peer has not been heard since the transport was made: messages wait.
    greeting: bool,
    failed: Option<Failure>,
    ticks: u64,
    /// The peer has all up to this number: `waiting` begins behind it.
    acknowledged: u64,
    waiting: VecDeque<Unacknowledged<M>>,
    bytes: usize,
    /// All up to this number have arrived; of the later ones, `ahead`: all are in (received, received + WINDOW].
    received: u64,
    ahead: BTreeSet<u64>,
    /// Messages that have arrived since the last acknowledgement.
    owed: usize,
}

impl<M: Clone> Link<M> {
    /// A link of this incarnation to a peer; to any incarnation of it, that which is heard first, if none is named. A
    /// pair of incarnations has one link in all their life. Nothing is sent before [`Link::reconnect`] or a tick.
    pub fn new(here: Incarnation, there: Option<Incarnation>, limits: Limits) -> Self {
        let messages = limits.messages.min(Limits::WINDOW);
        Self {
            limits: Limits { messages, ..limits },
            here,
            there,
            greeting: true,
            failed: None,
            ticks: 0,
            acknowledged: 0,
            waiting: VecDeque::new(),
            bytes: 0,
            received: 0,
            ahead: BTreeSet::new(),
            owed: 0,
        }
    }

    /// The incarnation of the peer, if it is known.
    pub fn peer(&self) -> Option<Incarnation> {
        self.there
    }

    /// Why it has failed, if it has.
    pub fn failure(&self) -> Option<Failure> {
        self.failed
    }

    /// Messages that are not acknowledged.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    fn fail(&mut self, failure: Failure) -> Failure {
        // nobody asks for them any more
        self.waiting = VecDeque::new();
        self.ahead = BTreeSet::new();
        *self.failed.get_or_insert(failure)
    }

    fn frame(&mut self, content: Content<M>) -> Frame<M> {
        self.owed = 0;
        Frame { from: self.here, to: self.there, acknowledged: self.received, content }
    }

    /// Sends a message, of this size.
    ///
    /// # Errors
    /// The link has failed, or does now, as too much is waiting.
    pub fn send(&mut self, message: M, size: usize, out: &mut Vec<Frame<M>>) -> Result<(), Failure> {
        if let Some(failure) = self.failed {
            return Err(failure);
        }
        let bytes = self.bytes.saturating_add(size);
        if self.waiting.len() >= self.limits.messages || bytes > self.limits.bytes {
            return Err(self.fail(Failure::Full));
        }
        self.bytes = bytes;
        let sent = self.ticks;
        self.waiting.push_back(Unacknowledged { message: message.clone(), size, sent });
        if !self.greeting {
            let number = self.acknowledged + self.waiting.len() as u64;
            out.push(self.frame(Content::Message(number, message)));
        }
        Ok(())
    }

    /// There is a new transport, or the old one may have lost everything: asks the peer what has arrived. The rest goes
    /// again when it has answered.
    pub fn reconnect(&mut self, out: &mut Vec<Frame<M>>) {
        if self.failed.is_none() {
            self.greeting = true;
            out.push(self.frame(Content::Hello));
        }
    }

    /// Time passes: acknowledges what has come, repeats what is not acknowledged.
    pub fn tick(&mut self, out: &mut Vec<Frame<M>>) {
        if self.failed.is_some() {
            return;
        }
        self.ticks += 1;
        if self.greeting {
            out.push(self.frame(Content::Hello));
            return;
        }
        let late = self.limits.patience.and_then(|patience| self.ticks.checked_sub(patience.into()));
        if let Some(late) = late {
            self.repeat(late, BURST, out);
        }
        if self.owed > 0 {
            out.push(self.frame(Content::Acknowledgement));
        }
    }

    /// Sends again what was last sent at this tick or before.
    fn repeat(&mut self, until: u64, most: usize, out: &mut Vec<Frame<M>>) {
        let (now, base) = (self.ticks, self.acknowledged);
        let (from, to, acknowledged) = (self.here, self.there, self.received);
        let numbered = (base + 1..).zip(&mut self.waiting);
        for (number, waiting) in numbered.filter(|(_, waiting)| waiting.sent <= until).take(most) {
            waiting.sent = now;
            let content = Content::Message(number, waiting.message.clone());
            out.push(Frame { from, to, acknowledged, content });
            self.owed = 0;
        }
    }

    /// Takes a frame of the transport; the message in it, if it has not come before.
    ///
    /// # Errors
    /// The link has failed, or does now.
    pub fn receive(&mut self, frame: Frame<M>, out: &mut Vec<Frame<M>>) -> Result<Option<M>, Failure> {
        if let Some(failure) = self.failed {
            return Err(failure);
        }
        match self.there {
            Some(there) if frame.from < there => return Ok(None),
            Some(there) if frame.from > there => return Err(self.fail(Failure::Restarted(frame.from))),
            _ => {}
        }
        match frame.to {
            Some(to) if to > self.here => return Err(self.fail(Failure::Superseded(to))),
            Some(to) if to < self.here => {
                // it was for the incarnation before this one: the sender does not know this one yet
                out.push(self.frame(Content::Hello));
                return Ok(None);
            }
            to => {
                self.there = Some(frame.from);
                if to.is_some() {
                    self.know(frame.acknowledged)?;
                }
            }
        }
        if std::mem::take(&mut self.greeting) {
            self.repeat(u64::MAX, usize::MAX, out);
        }
        match frame.content {
            Content::Hello => {
                out.push(self.frame(Content::Acknowledgement));
                Ok(None)
            }
            Content::Acknowledgement => Ok(None),
            Content::Message(number, message) => {
                let fresh = self.note(number)?;
                self.owed += 1;
                if self.owed >= ACKNOWLEDGE_AFTER {
                    out.push(self.frame(Content::Acknowledgement));
                }
                Ok(fresh.then_some(message))
            }
        }
    }

    /// The peer has all up to a number.
    fn know(&mut self, number: u64) -> Result<(), Failure> {
        if number > self.acknowledged + self.waiting.len() as u64 {
            return Err(self.fail(Failure::Nonsense));
        }
        while self.acknowledged < number {
            self.acknowledged += 1;
            self.bytes -= self.waiting.pop_front().map_or(0, |waiting| waiting.size);
        }
        Ok(())
    }

    /// Whether the number comes for the first time.
    fn note(&mut self, number: u64) -> Result<bool, Failure> {
        if number == 0 || number > self.received.saturating_add(Limits::WINDOW as u64) {
            return Err(self.fail(Failure::Nonsense));
        }
        if number <= self.received || !self.ahead.insert(number) {
            return Ok(false);
        }
        while self.ahead.first().is_some_and(|&first| first == self.received + 1) {
            self.ahead.pop_first();
            self.received += 1;
        }
        Ok(true)
    }
}
