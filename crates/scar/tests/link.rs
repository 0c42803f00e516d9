//! A link delivers all, once, whatever the transport does; and what cannot be delivered is known.

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use scaledb_scar::link::{Content, Failure, Frame, Incarnation, Limits, Link};
use std::collections::{BTreeMap, VecDeque};

const LIMITS: Limits = Limits { messages: 1000, bytes: 1 << 20, patience: Some(3) };

type Frames = Vec<Frame<u64>>;

fn pair(limits: Limits) -> [Link<u64>; 2] {
    [1, 2].map(|i| Link::new(Incarnation(i), None, limits))
}

/// Delivers frames of `from` in order, and the answers to them, until nothing moves; what was handed out at either end.
fn deliver(links: &mut [Link<u64>; 2], from: usize, frames: Frames) -> [Vec<u64>; 2] {
    let mut handed = [Vec::new(), Vec::new()];
    let mut queue = Vec::from_iter(frames.into_iter().map(|frame| (1 - from, frame)));
    while !queue.is_empty() {
        let (to, frame) = queue.remove(0);
        let mut out = Vec::new();
        handed[to].extend(links[to].receive(frame, &mut out).expect("the link stands"));
        queue.extend(out.into_iter().map(|frame| (1 - to, frame)));
    }
    handed
}

fn greeted(limits: Limits) -> [Link<u64>; 2] {
    let mut links = pair(limits);
    let mut out = Vec::new();
    links[0].reconnect(&mut out);
    deliver(&mut links, 0, out);
    assert_eq!(links[0].peer(), Some(Incarnation(2)));
    assert_eq!(links[1].peer(), Some(Incarnation(1)));
    links
}

#[test]
fn what_waits_for_the_greeting_is_sent_after_it() {
    let mut links = pair(LIMITS);
    let mut out = Vec::new();
    for i in 0..5 {
        links[0].send(i, 1, &mut out).unwrap();
    }
    assert!(out.is_empty());
    links[0].tick(&mut out);
    let handed = deliver(&mut links, 0, out);
    assert_eq!(handed[1], [0, 1, 2, 3, 4]);
    let mut out = Vec::new();
    links[1].tick(&mut out);
    deliver(&mut links, 1, out);
    assert_eq!(links[0].waiting(), 0);
}

#[test]
fn nothing_is_repeated_that_was_acknowledged() {
    let mut links = greeted(LIMITS);
    for i in 0..1000 {
        let mut out = Vec::new();
        links[0].send(i, 1, &mut out).unwrap();
        let handed = deliver(&mut links, 0, out);
        assert_eq!(handed[1], [i]);
    }
    // acknowledged without a tick, or the limit would be met
    assert!(links[0].waiting() < 100);
    let mut out = Vec::new();
    links[1].tick(&mut out);
    assert_eq!(out.len(), 1);
    deliver(&mut links, 1, out);
    let mut out = Vec::new();
    for _ in 0..10 {
        links[0].tick(&mut out);
        links[1].tick(&mut out);
    }
    assert!(out.is_empty(), "{out:?}");
}

#[test]
fn a_new_connection_repeats_only_what_has_not_arrived() {
    let mut links = greeted(Limits { patience: None, ..LIMITS });
    let mut out = Vec::new();
    for i in 0..10 {
        links[0].send(i, 1, &mut out).unwrap();
    }
    out.truncate(4);
    assert_eq!(deliver(&mut links, 0, out)[1], [0, 1, 2, 3]);
    let mut out = Vec::new();
    for _ in 0..100 {
        links[0].tick(&mut out);
    }
    assert!(out.is_empty(), "repeats without patience");
    let (mut hellos, mut others) = (Vec::new(), Vec::new());
    links[0].reconnect(&mut hellos);
    links[1].reconnect(&mut others);
    // both ends greet, as both have seen the connection come
    let handed = deliver(&mut links, 1, others);
    assert_eq!(handed[1], [4, 5, 6, 7, 8, 9]);
    let handed = deliver(&mut links, 0, hellos);
    assert!(handed[1].is_empty(), "{handed:?}");
    assert_eq!(links[0].waiting(), 0);
}

#[test]
fn a_message_goes_again_when_patience_is_over_and_not_before() {
    let mut links = greeted(LIMITS);
    let mut lost = Vec::new();
    links[0].send(1, 1, &mut lost).unwrap();
    for round in 0..3 {
        let mut out = Vec::new();
        links[0].tick(&mut out);
        links[0].tick(&mut out);
        assert!(out.is_empty(), "round {round}: {out:?}");
        links[0].tick(&mut out);
        assert_eq!(out.len(), 1, "round {round}");
    }
}

#[test]
fn a_peer_that_is_silent_has_failed_when_the_bound_is_reached() {
    let by_count = Limits { messages: 7, ..LIMITS };
    let by_size = Limits { bytes: 70, ..LIMITS };
    for (limits, size) in [(by_count, 0), (by_size, 10)] {
        let mut links = greeted(limits);
        let mut out = Vec::new();
        for i in 0..7 {
            links[0].send(i, size, &mut out).unwrap();
        }
        assert_eq!(links[0].send(7, size, &mut out), Err(Failure::Full));
        assert_eq!(links[0].failure(), Some(Failure::Full));
        assert_eq!(links[0].waiting(), 0, "a failed link keeps nothing");
        let frame = out[0].clone();
        assert_eq!(links[0].receive(frame, &mut out), Err(Failure::Full));
    }
}

#[test]
fn a_life_does_not_get_what_was_meant_for_the_one_before() {
    let mut links = greeted(LIMITS);
    let mut late = Vec::new();
    links[0].send(1, 1, &mut late).unwrap();
    links[1] = Link::new(Incarnation(9), None, LIMITS);
    let frame = late.remove(0);
    let mut out = Vec::new();
    assert_eq!(links[1].receive(frame, &mut out), Ok(None));
    // the answer says who is there now
    let failure = links[0].receive(out.remove(0), &mut late);
    assert_eq!(failure, Err(Failure::Restarted(Incarnation(9))));
}

#[test]
fn a_life_that_is_over_hears_of_it() {
    let mut links = greeted(LIMITS);
    let mut out = Vec::new();
    let frame = Frame {
        from: Incarnation(2),
        to: Some(Incarnation(5)),
        acknowledged: 0,
        content: Content::Acknowledgement,
    };
    assert_eq!(links[0].receive(frame, &mut out), Err(Failure::Superseded(Incarnation(5))));
}

#[test]
fn a_peer_that_breaks_the_rules_has_failed() {
    let of = |acknowledged, content| Frame {
        from: Incarnation(2),
        to: Some(Incarnation(1)),
        acknowledged,
        content,
    };
    let wrong = [
        of(1, Content::Acknowledgement),
        of(u64::MAX, Content::Hello),
        of(0, Content::Message(0, 1)),
        of(0, Content::Message(u64::MAX, 1)),
        of(0, Content::Message(Limits::WINDOW as u64 + 1, 1)),
    ];
    for frame in wrong {
        let mut links = greeted(LIMITS);
        let result = links[0].receive(frame.clone(), &mut Vec::new());
        assert_eq!(result, Err(Failure::Nonsense), "{frame:?}");
    }
    let mut links = greeted(LIMITS);
    let result = links[0].receive(of(0, Content::Message(Limits::WINDOW as u64, 4)), &mut Vec::new());
    assert_eq!(result, Ok(Some(4)));
}

/// A transport: frames on their way, with the end that they go to.
struct Transport {
    random: SmallRng,
    flights: VecDeque<(usize, Frame<u64>)>,
    loss: u32,
    repeats: u32,
    ordered: bool,
}

impl Transport {
    fn take(&mut self, to: usize, frames: Frames) {
        for frame in frames {
            if self.random.random_range(0..100) >= self.loss {
                if self.random.random_range(0..100) < self.repeats {
                    self.flights.push_back((to, frame.clone()));
                }
                self.flights.push_back((to, frame));
            }
        }
    }

    fn give(&mut self) -> Option<(usize, Frame<u64>)> {
        if self.flights.is_empty() {
            return None;
        }
        if self.ordered {
            return self.flights.pop_front();
        }
        let at = self.random.random_range(0..self.flights.len());
        self.flights.swap_remove_back(at)
    }
}

#[test]
fn all_arrives_once_whatever_the_transport_does() {
    for seed in 0..200 {
        let mut random = SmallRng::seed_from_u64(seed);
        let patience = random.random_range(1..6);
        let limits = Limits { messages: 5000, bytes: 1 << 20, patience: Some(patience) };
        let mut links = pair(limits);
        let mut net = Transport {
            loss: [0, 5, 30, 70][random.random_range(0..4)],
            repeats: [0, 5, 50][random.random_range(0..3)],
            ordered: random.random(),
            flights: VecDeque::new(),
            random: SmallRng::seed_from_u64(seed),
        };
        let mut sent = [0_u64; 2];
        let mut came: [BTreeMap<u64, u32>; 2] = Default::default();
        for step in 0..2000 {
            let quiet = step >= 1000;
            if quiet {
                net.loss = 0;
            }
            let end = random.random_range(0..2);
            let mut out = Vec::new();
            match random.random_range(0..200) {
                0..=50 if !quiet => {
                    links[end].send(sent[end], 1, &mut out).unwrap();
                    sent[end] += 1;
                }
                51 => links[end].reconnect(&mut out),
                52..=90 => links[end].tick(&mut out),
                _ => {}
            }
            net.take(1 - end, out);
            if let Some((to, frame)) = net.give() {
                let mut out = Vec::new();
                if let Some(message) = links[to].receive(frame, &mut out).unwrap() {
                    *came[to].entry(message).or_default() += 1;
                }
                net.take(1 - to, out);
            }
        }
        // the rest of what is on its way, and of what goes again
        for _ in 0..200 {
            for (end, link) in links.iter_mut().enumerate() {
                let mut out = Vec::new();
                link.tick(&mut out);
                net.take(1 - end, out);
            }
            while let Some((to, frame)) = net.give() {
                let mut out = Vec::new();
                if let Some(message) = links[to].receive(frame, &mut out).unwrap() {
                    *came[to].entry(message).or_default() += 1;
                }
                net.take(1 - to, out);
            }
        }
        for end in 0..2 {
            assert_eq!(links[end].waiting(), 0, "seed {seed}");
            let all = (0..sent[end]).map(|message| (message, 1)).collect();
            assert_eq!(came[1 - end], all, "seed {seed}");
        }
    }
}

#[test]
fn lives_are_kept_apart_over_a_transport_that_loses_and_repeats() {
    for seed in 0..300 {
        let mut random = SmallRng::seed_from_u64(seed);
        let mut lives = [1_u64, 1];
        let fresh = |life: u64, there: Option<Incarnation>| Link::new(Incarnation(life), there, LIMITS);
        let mut links = [fresh(1, None), fresh(1, None)];
        // what each end knows of the other's lives; a new life has forgotten it
        let mut known: [Option<Incarnation>; 2] = [None, None];
        let mut net = Transport {
            loss: 20,
            repeats: 30,
            ordered: false,
            flights: VecDeque::new(),
            random: SmallRng::seed_from_u64(seed),
        };
        let mut came: [Vec<u64>; 2] = Default::default();
        for _ in 0..4000 {
            let end = random.random_range(0..2);
            let mut out = Vec::new();
            match random.random_range(0..100) {
                0 => {
                    lives[end] += 1;
                    links[end] = fresh(lives[end], None);
                    (known[end], came[end]) = (None, Vec::new());
                }
                1..=30 => {
                    // a message says for whom it is, if that is known, and from whom
                    let to = links[end].peer().map_or(0, |peer| peer.0);
                    let number = random.random_range(0..1_u64 << 32);
                    let message = number << 32 | lives[end] << 16 | to;
                    // a link that has failed or is full by now is made again below
                    let _ = links[end].send(message, 1, &mut out);
                }
                31..=60 => links[end].tick(&mut out),
                _ => {}
            }
            net.take(1 - end, out);
            if let Some((to, frame)) = net.give() {
                let mut out = Vec::new();
                match links[to].receive(frame, &mut out) {
                    Ok(None) => {}
                    Ok(Some(message)) => {
                        let (from, meant) = (message >> 16 & 0xffff, message & 0xffff);
                        assert!(meant == 0 || meant == lives[to], "seed {seed}");
                        assert_eq!(links[to].peer(), Some(Incarnation(from)), "seed {seed}");
                        assert!(!came[to].contains(&message), "seed {seed}: twice");
                        came[to].push(message);
                    }
                    Err(Failure::Restarted(now)) => {
                        assert!(known[to].is_none_or(|known| known < now), "seed {seed}");
                        known[to] = Some(now);
                        links[to] = fresh(lives[to], Some(now));
                    }
                    Err(other) => panic!("seed {seed}: {other:?}"),
                }
                net.take(1 - to, out);
            }
        }
    }
}

#[test]
fn whatever_comes_is_taken_or_refused() {
    let number = |random: &mut SmallRng| match random.random_range(0..6) {
        0 => u64::MAX,
        1 => random.random(),
        _ => random.random_range(0..4),
    };
    for seed in 0..2000 {
        let random = &mut SmallRng::seed_from_u64(seed);
        let mut link = Link::new(Incarnation(random.random_range(0..3)), None, LIMITS);
        for _ in 0..100 {
            let content = match random.random_range(0..3) {
                0 => Content::Hello,
                1 => Content::Acknowledgement,
                _ => Content::Message(number(random), 1),
            };
            let to = random.random::<bool>().then(|| Incarnation(number(random)));
            let from = Incarnation(number(random));
            let frame = Frame { from, to, acknowledged: number(random), content };
            let mut out = Vec::new();
            // any result is right that is not a panic
            let _ = link.receive(frame, &mut out);
            let _ = link.send(3, 1, &mut out);
            link.tick(&mut out);
            assert!(out.len() < 300);
        }
    }
}
