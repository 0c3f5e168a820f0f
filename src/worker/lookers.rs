//! Who sees that work is done on a device that tells nobody.

use crate::dispatch::Then;
use std::time::Duration;

/// Work of an engine that tells nobody when it settles.
#[derive(Default)]
pub(super) struct Lookers(std::sync::OnceLock<Option<std::sync::mpsc::Sender<(Look, Then)>>>);

type Look = Box<dyn Fn() -> bool + Send>;

impl Lookers {
    pub(super) fn add(&self, look: Look, then: Then) {
        let sender = self.0.get_or_init(|| {
            let (sender, receiver) = std::sync::mpsc::channel::<(Look, Then)>();
            let run = move || look_around(&receiver);
            std::thread::Builder::new().name("windlass looker".into()).spawn(run).ok().map(|_| sender)
        });
        match sender {
            Some(sender) => {
                let _ = sender.send((look, then));
            }
            // No thread: in order, then.
            None => {
                while !look() {
                    std::thread::yield_now();
                }
                then();
            }
        }
    }
}

/// Looks at everything in flight, over and over; sleeps when there is nothing.
fn look_around(receiver: &std::sync::mpsc::Receiver<(Look, Then)>) {
    let mut flying: Vec<(Look, Then)> = Vec::new();
    let mut quiet = std::time::Instant::now();
    loop {
        if flying.is_empty() {
            match receiver.recv() {
                Ok(new) => flying.push(new),
                Err(_) => return,
            }
            quiet = std::time::Instant::now();
        }
        flying.extend(receiver.try_iter());
        let mut at = 0;
        while let Some((look, _)) = flying.get(at) {
            if look() {
                let (_, then) = flying.remove(at);
                then();
                quiet = std::time::Instant::now();
            } else {
                at += 1;
            }
        }
        if quiet.elapsed() > Duration::from_micros(200) {
            std::thread::sleep(Duration::from_micros(20));
        }
    }
}
