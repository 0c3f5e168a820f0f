//! The events of the feature `tracing`: what a subscriber is told.

use crate::common;
use crate::common::child::{alone, this_test};

use common::{down, eventually, host, up};
use std::fmt::Debug;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};
use windlass::{FaultPlan, RestartPolicy, health::Phase};

/// Level, and `name=value` of every field.
type Told = (Level, Vec<(&'static str, String)>);

static EVENTS: Mutex<Vec<Told>> = Mutex::new(Vec::new());

/// The subscriber fails.
static PANICS: AtomicBool = AtomicBool::new(false);

/// Writes down every event of the crate.
struct Recorder;

struct Fields(Vec<(&'static str, String)>);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.push((field.name(), format!("{value:?}").trim_matches('"').to_owned()));
    }
}

impl Subscriber for Recorder {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "windlass"
    }
    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }
    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn event(&self, event: &Event<'_>) {
        if PANICS.load(Ordering::Relaxed) {
            std::panic::resume_unwind(Box::new("a subscriber's own"));
        }
        let mut fields = Fields(Vec::new());
        event.record(&mut fields);
        EVENTS.lock().unwrap_or_else(PoisonError::into_inner).push((*event.metadata().level(), fields.0));
    }
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

/// Runs `body` in a process of its own, whose subscriber is the one above.
#[track_caller]
fn told_of(test: &str, body: impl FnOnce()) {
    alone(test, || {
        tracing::subscriber::set_global_default(Recorder).expect("the only subscriber");
        body();
    });
}

fn events() -> Vec<Told> {
    EVENTS.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

fn field<'t>(told: &'t Told, name: &str) -> Option<&'t str> {
    told.1.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_str())
}

#[test]
fn an_operation_is_told_when_it_is_enqueued_and_when_it_is_complete() {
    told_of(&this_test!(), || {
        let device = host(1).open().unwrap();
        let (x, y) = (up(&device, [1.0f64; 4]), up(&device, [2.0f64; 4]));
        let y = device.labelled("layer 3").blas().axpy(1.0, &x, y).unwrap().await_result().unwrap().into_buffer();
        assert_eq!(down(&device, &y), [3.0; 4]);
        let of = |word: &str| {
            let known = |told: &&Told| field(told, "op") == Some("axpy") && field(told, "message") == Some(word);
            events().iter().filter(known).cloned().collect::<Vec<_>>()
        };
        assert!(eventually(10, || of("complete").len() == 1), "{:?}", events());
        let (enqueued, complete) = (of("enqueued"), of("complete"));
        assert_eq!(enqueued.len(), 1, "{enqueued:?}");
        for told in enqueued.iter().chain(&complete) {
            assert_eq!(
                (told.0, field(told, "library"), field(told, "label")),
                (Level::TRACE, Some("blas"), Some("layer 3"))
            );
        }
        assert_eq!((field(&enqueued[0], "flops"), field(&enqueued[0], "bytes")), (Some("8"), Some("96")));
        let latency: u64 = field(&complete[0], "latency_ns").unwrap().parse().unwrap();
        assert!(latency > 0 && latency < 60_000_000_000, "{latency}");
    });
}

#[test]
fn a_cpu_for_want_of_a_gpu_is_a_warning_with_the_reason() {
    told_of(&this_test!(), || {
        let device = windlass::Device::best().unwrap();
        let told = phases(&device);
        if device.kind() != windlass::DeviceKind::Host {
            return assert!(told.iter().all(|(level, ..)| *level != Level::WARN), "{told:?}");
        }
        let reasons = &device.info().passed_over;
        assert!(!reasons.is_empty());
        let warned = reasons.iter().map(|why| (Level::WARN, "the CPU is used".to_owned(), Some(why.clone())));
        assert_eq!(told, warned.collect::<Vec<_>>());
        let asked = windlass::Device::host().unwrap();
        assert!(phases(&asked).is_empty() && asked.info().passed_over.is_empty());
    });
}

/// What became of a device, with the reason where there is one.
fn phases(of: &windlass::Device) -> Vec<(Level, String, Option<String>)> {
    let phase = |told: &Told| {
        field(told, "device").filter(|device| *device == &*of.name())?;
        Some((told.0, field(told, "message")?.to_owned(), field(told, "reason").map(str::to_owned)))
    };
    events().iter().filter_map(phase).collect()
}

#[test]
fn faults_and_rebuilds_are_told_as_they_come() {
    told_of(&this_test!(), || {
        let once = host(1).fault_plan(FaultPlan::new().poison(0)).open().unwrap();
        assert!(once.upload([1u8]).unwrap().await_result().is_err());
        once.wait_healthy(Duration::from_secs(60)).unwrap();
        // The last is told a moment after it is so.
        assert!(eventually(10, || phases(&once).len() == 3), "{:?}", phases(&once));
        let told = phases(&once);
        let words: Vec<_> = told.iter().map(|(level, word, _)| (*level, word.as_str())).collect();
        assert_eq!(words, [(Level::WARN, "poisoned"), (Level::INFO, "rebuilding"), (Level::INFO, "healthy")]);
        assert!(told[0].2.as_ref().is_some_and(|reason| !reason.is_empty()), "{told:?}");

        EVENTS.lock().unwrap().clear();
        once.rebuild(Duration::from_secs(60)).unwrap();
        let told = phases(&once);
        let asked = Some("a rebuild was requested".to_owned());
        assert_eq!(told, [(Level::INFO, "rebuilding".into(), asked), (Level::INFO, "healthy".into(), None)]);

        EVENTS.lock().unwrap().clear();
        let never =
            host(1).fault_plan(FaultPlan::new().poison(0)).restart_policy(RestartPolicy::never()).open().unwrap();
        assert!(never.upload([1u8]).unwrap().await_result().is_err());
        let last = || phases(&never).last().map(|(level, word, _)| (*level, word.clone()));
        assert!(eventually(10, || last() == Some((Level::ERROR, "lost".into()))), "{:?}", phases(&never));
        assert_eq!(never.health().phase, Phase::Lost);
    });
}

#[test]
fn a_subscriber_that_panics_costs_nobody_an_answer() {
    told_of(&this_test!(), || {
        PANICS.store(true, Ordering::Relaxed);
        let device = host(2).fault_plan(FaultPlan::new().poison(4)).open().unwrap();
        let (x, y) = (up(&device, [1.0f64; 4]), up(&device, [2.0f64; 4]));
        let pending = device.blas().axpy(1.0, &x, y).unwrap();
        let y = pending.await_timeout(Duration::from_secs(60)).expect("it is told").unwrap();
        assert_eq!(down(&device, &y), [3.0; 4]);
        assert!(device.upload([1u8]).unwrap().await_result().is_err());
        device.wait_healthy(Duration::from_secs(60)).unwrap();
        PANICS.store(false, Ordering::Relaxed);
        assert_eq!((device.generation(), down(&device, &up(&device, [4u8]))), (1, vec![4]));
    });
}
