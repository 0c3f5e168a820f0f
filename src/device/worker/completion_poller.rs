//! Polls for completions on a device that does not notify, and sees when the device begins an operation.
//!
//! Each queue of the device works in order. So only the first record of each queue is polled. The device works on it as
//! soon as what it follows in other queues is done. The watchdog's time starts then, so that work which only waits is
//! not counted. A poll that does not return is a stall of the driver, which all lanes share: it is published, too, so that
//! the watchdog does not count it for the work that only could not be seen to end.

use crate::core::arena::Arrivals as _;
use crate::core::clock::{self, Clock, Timing};
use crate::core::dispatch::{Ongoing, Pace};
use crate::core::order::Then;
use crate::core::sync::Arc;
use crate::engines::worker::shared::Answers;
use crate::engines::worker::shared::Reply;
use crate::system::thread::FineTimer;
use std::collections::VecDeque;
use std::sync::OnceLock;
use std::sync::mpsc::{Receiver, RecvError, RecvTimeoutError, Sender, TryRecvError, channel};
use std::time::Duration;

/// Polls the work of an engine that does not notify when work settles.
#[derive(Default)]
pub(crate) struct CompletionPoller(OnceLock<Option<Sender<Option<Record>>>>);

/// Work in flight, without its type.
trait Work: Send {
    fn is_settled(&self) -> bool;
    fn may_run(&self) -> bool;
    fn arrived(&self) -> u64;
    /// Its queue and its place in the queue, once they are known.
    fn place(&self) -> Option<(usize, u64)> {
        None
    }
}

impl Work for Arc<dyn Ongoing> {
    fn is_settled(&self) -> bool {
        (**self).is_settled()
    }
    fn may_run(&self) -> bool {
        (**self).may_run()
    }
    fn arrived(&self) -> u64 {
        (**self).arrived()
    }
    fn place(&self) -> Option<(usize, u64)> {
        (**self).place()
    }
}

struct Record {
    queue: usize,
    place: u64,
    work: Box<dyn Work>,
    reply: Reply,
    /// The operation's name.
    name: &'static str,
    /// Set when the beginning was reported: measures how long the work takes.
    begun: Option<Pace>,
    /// The number of arrived bytes that was reported last.
    arrived: u64,
    then: Then,
}

/// The result of polling a record.
#[derive(PartialEq, Eq)]
enum Seen {
    Done,
    /// More bytes of a download have arrived; the client copies them out meanwhile.
    More,
    Nothing,
}

impl Record {
    fn look(&mut self) -> Seen {
        if self.work.is_settled() {
            if let Some(pace) = self.begun {
                pace.ended();
            }
            return Seen::Done;
        }
        if self.begun.is_none() && self.work.may_run() {
            self.begun = Some(Pace::learning(self.name));
            self.reply.start();
        }
        let arrived = self.work.arrived();
        if arrived > self.arrived {
            self.arrived = arrived;
            self.reply.arrive(arrived);
            return Seen::More;
        }
        Seen::Nothing
    }
}

impl CompletionPoller {
    /// There will be work in a moment: wakes the thread if it sleeps. Waking it takes about as long as enqueuing the
    /// work.
    pub(crate) fn rouse(&self) {
        if let Some(Some(sender)) = self.0.get() {
            let _ = sender.send(None);
        }
    }

    pub(crate) fn add(&self, (name, work): (&'static str, Arc<dyn Ongoing>), reply: Reply, then: Then) {
        let sender = self.0.get_or_init(|| {
            let (sender, receiver) = channel();
            let outlet = reply.outlet.clone();
            let run = move || {
                let (_whole, _fine) = (outlet.whole(), FineTimer::begin());
                look_around(&receiver, &outlet.answers);
            };
            std::thread::Builder::new().name("windlass poller".into()).spawn(run).ok().map(|_| sender)
        });
        let (queue, place) = work.place().unwrap_or((LATE, 0));
        let mut record = Record { queue, place, work: Box::new(work), reply, name, begun: None, arrived: 0, then };
        match sender {
            Some(sender) => {
                let _ = sender.send(Some(record));
            }
            // The thread could not be started: poll here.
            None => {
                while record.look() != Seen::Done {
                    std::thread::yield_now();
                }
                (record.then)();
            }
        }
    }
}

/// At most this many of one queue are answered before the next queue is polled.
const AT_A_TIME: usize = 16;

/// The queue number of work that is in no queue yet.
const LATE: usize = usize::MAX;

/// Work in flight, by queue; and work that is in no queue yet, all of which is polled.
#[derive(Default)]
struct Running(Vec<VecDeque<Record>>, Vec<Record>);

impl Running {
    fn add(&mut self, record: Record) {
        if record.queue == LATE {
            return self.1.push(record);
        }
        if self.0.len() <= record.queue {
            self.0.resize_with(record.queue + 1, VecDeque::new);
        }
        if let Some(queue) = self.0.get_mut(record.queue) {
            // The records of two lanes may be added in another order than they were enqueued in.
            let at = queue.iter().rposition(|earlier| earlier.place < record.place).map_or(0, |before| before + 1);
            queue.insert(at, record);
        }
    }

    fn is_empty(&self) -> bool {
        self.1.is_empty() && self.0.iter().all(VecDeque::is_empty)
    }

    /// Calls `then` of each record that is done. True if there was any, or if more of a download has arrived.
    fn look(&mut self) -> bool {
        let mut any = self.look_at_late();
        for queue in &mut self.0 {
            for _ in 0..AT_A_TIME {
                let seen = queue.front_mut().map_or(Seen::Nothing, Record::look);
                any |= seen != Seen::Nothing;
                let Some(record) = (seen == Seen::Done).then(|| queue.pop_front()).flatten() else { break };
                (record.then)();
            }
        }
        any
    }

    /// Moves late work to its queue once it is enqueued. It may also fail before that.
    fn look_at_late(&mut self) -> bool {
        let mut any = false;
        let mut index = 0;
        while let Some(record) = self.1.get_mut(index) {
            if let Some((queue, place)) = record.work.place() {
                (record.queue, record.place) = (queue, place);
                any = true;
                let record = self.1.swap_remove(index);
                self.add(record);
            } else if record.look() == Seen::Done {
                any = true;
                (self.1.swap_remove(index).then)();
            } else {
                index += 1;
            }
        }
        any
    }

    /// A part of a download has arrived, and the rest follows.
    fn is_arriving(&self) -> bool {
        self.0.iter().filter_map(VecDeque::front).any(|record| record.arrived > 0)
    }

    /// The pause before the next poll, by work whose length is known from earlier runs.
    fn expected(&self) -> Option<Duration> {
        let paces = self.0.iter().filter_map(VecDeque::front).filter_map(|record| record.begun);
        paces.filter(Pace::is_known).map(|pace| pace.pause(&Timing::standard().waits)).min()
    }
}

/// The pause before the next poll when nothing was seen for `quiet`; `None` to poll again at once. Each poll takes the
/// driver's lock, and for a kernel that runs for minutes a delay of a sixteenth of its time does not matter. While a
/// large download arrives, polling without pauses goes on for longer, since the client copies each piece out while the
/// next one is on its way.
fn pause(quiet: Duration, arriving: bool) -> Option<Duration> {
    let serving = &Timing::standard().serving;
    let restless = if arriving { serving.arriving } else { serving.restless };
    (quiet > restless).then(|| (quiet / 16).max(serving.shortest_pause).min(serving.longest_pause))
}

/// Receives the next record, or the `None` of [`rouse`](CompletionPoller::rouse). Spins at first, then sleeps.
fn next(receiver: &Receiver<Option<Record>>) -> Result<Option<Record>, RecvError> {
    let (start, spin) = (Clock::SYSTEM.start(), Timing::standard().serving.look_spin);
    loop {
        match receiver.try_recv() {
            Ok(next) => return Ok(next),
            Err(TryRecvError::Disconnected) => return Err(RecvError),
            Err(TryRecvError::Empty) if start.elapsed() > spin => return receiver.recv(),
            Err(TryRecvError::Empty) => std::thread::yield_now(),
        }
    }
}

/// The thread: polls what is in flight; sleeps when there is nothing. Ends when the channel is closed.
fn look_around(receiver: &Receiver<Option<Record>>, answers: &Answers) {
    let mut flying = Running::default();
    let mut quiet = Clock::SYSTEM.start();
    loop {
        if flying.is_empty() {
            match next(receiver) {
                Ok(new) => new.into_iter().for_each(|new| flying.add(new)),
                Err(_) => return,
            }
            quiet = Clock::SYSTEM.start();
        }
        let mut news = false;
        for new in receiver.try_iter() {
            news = true; // it may be short work
            new.into_iter().for_each(|new| flying.add(new));
        }
        answers.ask_at(Clock::SYSTEM.nanos());
        let seen = flying.look();
        answers.ask_at(0);
        if seen | news {
            quiet = Clock::SYSTEM.start();
        }
        if let Some(pause) = pause(quiet.elapsed(), flying.is_arriving()) {
            let pause = flying.expected().map_or(pause, |expected| expected.min(pause));
            match receiver.recv_timeout(pause) {
                Ok(new) => {
                    quiet = Clock::SYSTEM.start();
                    new.into_iter().for_each(|new| flying.add(new));
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => clock::pause(pause), // the rest is polled to its end
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::segment::Segment;
    use crate::core::sync::{AtomicU32, Ordering};
    use crate::engines::worker::shared::Answers;
    use crate::engines::worker::shared::Outlet;
    use crate::engines::worker::shared::answers::FOOTPRINT;

    const MAY_RUN: u32 = 1;
    const DONE: u32 = 2;

    /// Its state, and how often it was polled.
    #[derive(Clone, Default)]
    struct Fake(Arc<AtomicU32>, Arc<AtomicU32>);

    impl Work for Fake {
        fn is_settled(&self) -> bool {
            self.1.fetch_add(1, Ordering::Relaxed);
            self.0.load(Ordering::Relaxed) == DONE
        }
        fn may_run(&self) -> bool {
            self.0.load(Ordering::Relaxed) == MAY_RUN
        }
        fn arrived(&self) -> u64 {
            match self.0.load(Ordering::Relaxed) {
                n if n > DONE => u64::from(n),
                _ => 0,
            }
        }
    }

    fn outlet() -> Arc<Outlet> {
        let (_parent, socket) = std::os::unix::net::UnixStream::pair().unwrap();
        let answers = Answers::new(Arc::new(Segment::create("windlass-test", FOOTPRINT).unwrap().0), 0);
        Arc::new(Outlet { answers, socket: crate::core::sync::Mutex::new(socket), longest: 0 })
    }

    #[test]
    fn the_device_is_at_the_first_of_a_queue_once_what_it_follows_is_done() {
        let outlet = outlet();
        let answers = outlet.answers.clone();
        let ended: Arc<crate::core::sync::Mutex<Vec<u32>>> = Arc::default();
        let works: [Fake; 4] = std::array::from_fn(|_| Fake::default());
        let mut flying = Running::default();
        // The second of queue 3 comes first.
        for (at, queue, place) in [(1, 3, 8), (0, 3, 7), (2, 3, 9), (3, 0, 1)] {
            let ended = ended.clone();
            flying.add(Record {
                queue,
                place,
                work: Box::new(works[at as usize].clone()),
                reply: Reply { outlet: outlet.clone(), place: at },
                name: "fake",
                begun: None,
                arrived: 0,
                then: Box::new(move || ended.lock().push(at)),
            });
        }
        let begun = || [0, 1, 2, 3].map(|place| answers.running(place, Clock::SYSTEM).is_some());
        assert!(!flying.look());
        assert_eq!(begun(), [false; 4], "what they follow is not done");
        works.iter().for_each(|work| work.0.store(MAY_RUN, Ordering::Relaxed));
        assert!(!flying.look());
        assert_eq!(begun(), [true, false, false, true], "the first of each queue");
        works[2].0.store(DONE, Ordering::Relaxed);
        assert!(!flying.look(), "the last of a queue was looked at");
        works[0].0.store(DONE, Ordering::Relaxed);
        assert!(flying.look() && begun()[1] && !flying.is_arriving());
        works[1].0.store(1 << 20, Ordering::Relaxed);
        assert!(flying.look() && flying.is_arriving(), "a part of what it brings is there");
        assert!(answers.arrived(1) == 1 << 20 && !flying.look());
        works.iter().for_each(|work| work.0.store(DONE, Ordering::Relaxed));
        assert!(flying.look() && flying.is_empty());
        assert_eq!(*ended.lock(), [0, 3, 1, 2]);
    }
    #[test]
    fn the_longer_nothing_is_seen_the_more_seldom_it_is_looked_at() {
        let us = Duration::from_micros;
        assert_eq!(
            [us(200), us(201), us(8_000), us(600_000_000)].map(|quiet| pause(quiet, false)),
            [None, Some(us(20)), Some(us(500)), Some(us(1_000))]
        );
        assert_eq!([us(2_000), us(3_200)].map(|quiet| pause(quiet, true)), [None, Some(us(200))]);
    }

    #[test]
    fn what_ends_is_seen_however_long_nothing_was() {
        let (sender, receiver) = channel();
        let (work, (ended, end)) = (Fake::default(), channel());
        let reply = Reply { outlet: outlet(), place: 0 };
        let answers = reply.outlet.answers.clone();
        let looking = std::thread::spawn(move || look_around(&receiver, &answers));
        let then: Then = Box::new(move || ended.send(()).unwrap());
        let record = Record {
            queue: 0,
            place: 0,
            work: Box::new(work.clone()),
            reply,
            name: "fake",
            begun: None,
            arrived: 0,
            then,
        };
        sender.send(Some(record)).unwrap();
        while work.1.load(Ordering::Relaxed) == 0 {
            std::thread::yield_now(); // the thread has not polled it yet
        }
        work.0.store(DONE, Ordering::Relaxed);
        assert!(end.recv_timeout(Duration::from_secs(60)).is_ok());
        drop(sender);
        looking.join().unwrap();
    }
}
