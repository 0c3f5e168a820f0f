//! Timelines, read back.

use super::{LONG, down, eventually, up};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use windlass::timeline::Timeline;
use windlass::{DeviceBuilder, Gemm};

/// A timeline as it was written: its events.
pub struct Read(pub Vec<Value>);

/// Process, thread.
pub type Place = (u64, u64);

impl Read {
    /// What a recorder keeps.
    pub fn of(recorder: &Timeline) -> Self {
        let mut json = Vec::new();
        recorder.write(&mut json).unwrap();
        let whole: Value = serde_json::from_slice(&json).unwrap();
        Read(whole["traceEvents"].as_array().unwrap().clone())
    }

    /// Those of a kind, in their order.
    pub fn kind<'r>(&'r self, kind: &'r str) -> impl Iterator<Item = &'r Value> {
        self.0.iter().filter(move |event| event["ph"] == kind)
    }

    /// Slices of operations of that name: of calls, and of executions.
    pub fn slices(&self, name: &str) -> (Vec<&Value>, Vec<&Value>) {
        let own = self.kind("X").filter(|slice| slice["name"] == name && slice["args"]["number"].is_u64());
        own.partition(|slice| slice["pid"] == 1)
    }

    /// What the processes are called.
    pub fn processes(&self) -> BTreeMap<u64, String> {
        let names = self.kind("M").filter(|event| event["name"] == "process_name");
        names.map(|name| (number(name, "pid"), name["args"]["name"].as_str().unwrap().to_owned())).collect()
    }

    /// What every timeline is like: slices of a thread are beside or inside each other, threads and processes have names,
    /// arrows lead forward from a call to the execution of the same number, and each ends in a slice.
    pub fn check(&self) {
        let mut threads: BTreeMap<Place, Vec<(u64, u64)>> = BTreeMap::new();
        for slice in self.kind("X") {
            let (begin, took) = (nanos(slice, "ts"), nanos(slice, "dur"));
            threads.entry(place(slice)).or_default().push((begin, begin + took));
        }
        let named: BTreeSet<Place> = self.kind("M").filter(|name| name["name"] == "thread_name").map(place).collect();
        let processes = self.processes();
        for (place, slices) in &mut threads {
            assert!(named.contains(place) && processes.contains_key(&place.0), "{place:?} has no name");
            slices.sort_by_key(|(begin, end)| (*begin, std::cmp::Reverse(*end)));
            let mut open: Vec<(u64, u64)> = Vec::new();
            for slice in slices {
                while open.last().is_some_and(|outer| outer.1 <= slice.0 && *outer != *slice) {
                    open.pop();
                }
                let inside = open.last().is_none_or(|outer| slice.1 <= outer.1);
                assert!(inside, "{slice:?} is partly in {open:?} of {place:?}");
                open.push(*slice);
            }
        }
        let ends = |kind| self.kind(kind).map(|end| (number(end, "id"), end)).collect::<BTreeMap<_, _>>();
        let (from, to) = (ends("s"), ends("f"));
        for (number, end) in &to {
            let begin = from.get(number).unwrap_or_else(|| panic!("the arrow {number} comes from nowhere"));
            assert!(nanos(begin, "ts") <= nanos(end, "ts"), "the arrow {number} leads back");
            assert!(begin["pid"] == 1 && end["pid"] != 1 && end["bp"] == "e");
            for one in [begin, end] {
                let at = nanos(one, "ts");
                let around = self.kind("X").filter(|slice| place(slice) == place(one));
                let mut around = around.filter(|slice| slice["args"]["number"] == *number);
                let holds =
                    |slice: &Value| (nanos(slice, "ts")..=nanos(slice, "ts") + nanos(slice, "dur")).contains(&at);
                assert!(around.any(holds), "an end of the arrow {number} is in no slice of it");
            }
        }
    }
}

fn number(event: &Value, key: &str) -> u64 {
    event[key].as_u64().unwrap_or_else(|| panic!("{key} of {event}"))
}

/// A time, as it was before it was written.
pub fn nanos(event: &Value, key: &str) -> u64 {
    (event[key].as_f64().unwrap_or_else(|| panic!("{key} of {event}")) * 1000.0).round() as u64
}

pub fn place(event: &Value) -> Place {
    (number(event, "pid"), number(event, "tid"))
}

/// Some work of two threads on a device with a recorder. Gives the timeline of it, once all of that is over.
pub fn work(builder: DeviceBuilder) -> Read {
    let recorder = Timeline::new();
    let device = builder.timeline(&recorder).open().unwrap();
    let one = || {
        let (a, b) = (device.full([4, 4], 1.0f64).unwrap(), device.full([4, 4], 2.0f64).unwrap());
        let labelled = device.labelled("a \"quoted\" label");
        let c = labelled.blas().gemm(Gemm::new(), &a, &b, device.zeros([4, 4]).unwrap()).unwrap();
        assert_eq!(down(&device, &c.into_output()), [8.0; 16]);
    };
    std::thread::scope(|scope| {
        std::thread::Builder::new().name("another client".into()).spawn_scoped(scope, one).unwrap();
        one();
    });
    recorder.mark("all is done");
    let over = |read: &Read| read.kind("f").count() == read.kind("s").count();
    assert!(eventually(LONG.as_secs(), || over(&Read::of(&recorder))), "something is never over");
    Read::of(&recorder)
}

/// What such a timeline is like on any device.
pub fn check_work(read: &Read, device: &str) {
    read.check();
    let (calls, executions) = read.slices("gemm");
    assert_eq!((calls.len(), executions.len()), (2, 2));
    assert_ne!(calls[0]["tid"], calls[1]["tid"], "they are of two threads");
    for slice in calls.iter().chain(&executions) {
        assert_eq!(
            (&slice["args"]["label"], &slice["args"]["library"]),
            (&"a \"quoted\" label".into(), &"blas".into())
        );
        assert_eq!(slice["args"]["flops"], 128);
    }
    let numbers = |slices: &[&Value]| slices.iter().map(|one| number(&one["args"], "number")).collect::<BTreeSet<_>>();
    assert_eq!(numbers(&calls), numbers(&executions));
    let leased = read.kind("X").filter(|slice| slice["name"] == "leased").count();
    assert!(leased >= 2, "{leased} leases");
    assert!(read.kind("i").any(|moment| moment["name"] == "all is done" && moment["pid"] == 1));
    assert!(read.kind("i").filter(|moment| moment["name"] == "observed").count() >= 2);
    assert!(read.kind("C").any(|level| level["name"] == "bytes in use" && level["args"]["value"].as_u64() > Some(0)));
    let in_flight: Vec<_> = read.kind("C").filter(|level| level["name"] == "in flight").collect();
    assert!(in_flight.iter().any(|level| level["args"]["value"].as_u64() > Some(0)));
    assert!(read.processes().values().any(|name| name.starts_with(device)), "{:?}", read.processes());
    assert!(read.kind("M").any(|name| name["args"]["name"] == "another client"));
}
