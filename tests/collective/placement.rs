//! Placement of work, and direct paths between devices.

use crate::{LONG, Rng, host, hosts};
use std::collections::BTreeMap;
use std::sync::mpsc::channel;
use std::sync::{Arc, Condvar, Mutex};
use windlass::placement::{Link, Placement, islands};
use windlass::{
    Device, DeviceBuffer, Error, FaultPlan, HostPool, RestartPolicy, Result,
    health::Phase,
    op::{Op, Slices, SlicesMut, Spans},
};

fn place(devices: &[Device]) -> Placement {
    Placement::new(devices).unwrap()
}

/// Work that lasts until it is let go.
#[derive(Clone, Default)]
struct Held(Arc<(Mutex<bool>, Condvar)>);

impl Held {
    fn let_go(&self) {
        *self.0.0.lock().unwrap() = true;
        self.0.1.notify_all();
    }
}

impl Op for Held {
    const NAME: &'static str = "held";
    type Reads = ();
    type Output = DeviceBuffer<u8>;
    type Raw = ();
    fn check(&self, (): &(), _: &Spans<(u8,)>) -> Result<()> {
        Ok(())
    }
    fn overwrites(&self, _: &Spans<(u8,)>) -> bool {
        true
    }
    fn host(&self, (): Slices<'_, Self>, (x,): SlicesMut<'_, Self>) -> Result<()> {
        drop(self.0.1.wait_while(self.0.0.lock().unwrap(), |gone| !*gone).unwrap());
        x.fill(1);
        Ok(())
    }
    fn finish(&self, (): ()) -> Result<()> {
        Ok(())
    }
}

#[test]
fn one_after_the_other() {
    let devices = hosts(3);
    let place = place(&devices);
    for round in 0..7 {
        assert_eq!(*place.round_robin().unwrap(), devices[round % 3]);
    }
    let error = Placement::new([]).map(drop).unwrap_err();
    assert!(matches!(&error, Error::InvalidArgument { argument, .. } if argument == "devices"), "{error}");
}

/// The rules do not take each other's turns.
#[test]
fn mixed_rules_each_go_one_after_the_other() {
    let devices = hosts(2);
    let place = place(&devices);
    for round in 0..6 {
        assert_eq!(*place.round_robin().unwrap(), devices[round % 2]);
        assert_eq!(*place.least_loaded().unwrap(), devices[round % 2]);
    }
}

fn keys() -> Vec<String> {
    let mut rng = Rng::new(7);
    (0..5000).map(|i| format!("key {i} {}", rng.next() % 1000)).collect()
}

fn homes(place: &Placement) -> Vec<String> {
    keys().iter().map(|key| place.by_key(key).unwrap().name().to_string()).collect()
}

/// Keys are spread evenly, and each is always placed alike, whatever the order of the devices.
#[test]
fn a_key_has_one_device_and_few_move_when_it_goes() {
    let devices = hosts(5);
    let all = homes(&place(&devices));
    let mut counts = BTreeMap::new();
    all.iter().for_each(|name| *counts.entry(name.as_str()).or_insert(0) += 1);
    // A binomial count is within five standard deviations (28) of its mean.
    assert!(counts.len() == 5 && counts.values().all(|count| (860..1140).contains(count)), "{counts:?}");
    let reversed: Vec<Device> = devices.iter().rev().cloned().collect();
    assert_eq!(homes(&place(&reversed)), all);
    let (gone, other) = (devices[0].name(), devices[3].name());
    let fewer = homes(&place(&devices[1..]));
    let moved: Vec<_> = all.iter().zip(&fewer).filter(|(before, after)| before != after).collect();
    assert_eq!(moved.len(), counts[&*gone], "those of the one that went");
    assert!(moved.iter().all(|(before, _)| **before == *gone));
    let fair = moved.iter().filter(|(_, after)| **after == *other).count();
    assert!((180..320).contains(&fair), "{fair} of a thousand, for each of four");
}

#[test]
fn the_least_loaded_is_the_one_with_the_fewest_dispatches_in_flight() {
    let devices = hosts(3);
    let (place, held) = (place(&devices), Held::default());
    let busy = |device: &Device| device.dispatch(held.clone(), (), (device.uninit(1).unwrap().into_buffer(),)).unwrap();
    let one = busy(&devices[0]);
    let next = || place.least_loaded().unwrap().name();
    let taken: Vec<_> = (0..10).map(|_| next()).collect();
    let of = |device: &Device| taken.iter().filter(|name| **name == device.name()).count();
    assert_eq!([0, 1, 2].map(|index| of(&devices[index])), [0, 5, 5], "those that are as idle take turns: {taken:?}");
    let pendings = [one, busy(&devices[1]), busy(&devices[1])];
    for _ in 0..5 {
        assert_eq!(*place.least_loaded().unwrap(), devices[2]);
    }
    let more = [busy(&devices[2]), busy(&devices[2]), busy(&devices[2])];
    assert_eq!(*place.least_loaded().unwrap(), devices[0]);
    held.let_go();
    pendings.into_iter().chain(more).for_each(|pending| drop(pending.await_result().unwrap()));
    devices.iter().for_each(|device| device.synchronize(LONG).unwrap());
    let taken: Vec<_> = (0..3).map(|_| place.least_loaded().unwrap().name()).collect();
    assert!(devices.iter().all(|device| taken.contains(&device.name())), "idle ones take turns: {taken:?}");
}

/// Of a pool of threads, all of which choose at once.
#[test]
fn threads_share_a_placement() {
    use rayon::prelude::*;
    let devices = hosts(2);
    let place = place(&devices);
    let chosen: Vec<u64> = (0..64u64)
        .into_par_iter()
        .map(|i| {
            let device =
                [place.round_robin(), place.least_loaded(), place.by_key(i.to_le_bytes())][i as usize % 3].clone();
            let device = device.unwrap();
            device.to_vec(&device.buffer([i]).unwrap()).unwrap()[0]
        })
        .collect();
    assert_eq!(chosen, (0..64).collect::<Vec<_>>());
}

#[test]
fn a_device_that_is_rebuilt_is_skipped_until_it_is_healthy() {
    let ((begun, begins), (go_on, goes_on)) = (channel(), channel::<()>());
    let goes_on = Mutex::new(goes_on);
    let hook = move |_: &Device| {
        begun.send(()).unwrap();
        goes_on.lock().unwrap().recv().unwrap();
        Ok(())
    };
    let builder = Device::builder().host().host_pool(HostPool::Threads(1));
    let faulty = builder.fault_plan(FaultPlan::new().poison(0)).before_admission(hook).open().unwrap();
    let devices = [faulty.clone(), host(1)];
    let (three, place) = ([&faulty, &devices[1], &host(1)].map(Clone::clone), place(&devices));
    let of_three = Placement::new(&three).unwrap();
    let before = homes(&place);
    assert!(before.iter().any(|name| **name == *faulty.name()));
    let _ = faulty.upload([1u8]).map(|pending| pending.await_result().map(drop));
    begins.recv().unwrap();
    for key in keys() {
        let chosen = [place.round_robin().unwrap(), place.least_loaded().unwrap(), place.by_key(key).unwrap()];
        assert_eq!(chosen, [&devices[1]; 3]);
    }
    for rule in [Placement::round_robin, Placement::least_loaded] {
        let taken: Vec<_> = (0..30).map(|_| rule(&of_three).unwrap().name()).collect();
        let first = taken.iter().filter(|name| **name == three[1].name()).count();
        assert_eq!(first, 15, "the turns of the one that is skipped go to all others");
    }
    go_on.send(()).unwrap();
    assert_eq!(faulty.wait_healthy(LONG).unwrap().phase, Phase::Healthy);
    assert_eq!(homes(&place), before, "the keys come back");
}

#[test]
fn without_a_healthy_device_the_first_ones_error_is_told() {
    let policy = RestartPolicy::never();
    let lost = Device::builder().host().fault_plan(FaultPlan::new().poison(0)).restart_policy(policy).open().unwrap();
    let _ = lost.upload([1u8]).map(|pending| pending.await_result().map(drop));
    assert!(lost.wait_healthy(LONG).is_err());
    let place = Placement::new([&lost]).unwrap();
    for refused in [place.round_robin(), place.least_loaded(), place.by_key("x")] {
        let error = refused.map(drop).unwrap_err();
        assert!(matches!(error, Error::DeviceLost { .. }), "{error}");
    }
}

#[test]
fn host_devices_share_memory() {
    let devices = hosts(3);
    let peers = devices[1].peers(&devices).unwrap();
    assert_eq!(peers, [(&devices[0], Link::Memory), (&devices[2], Link::Memory)]);
    assert_eq!(islands(&devices).unwrap(), std::slice::from_ref(&devices));
    assert_eq!(islands([]).unwrap(), Vec::<Vec<Device>>::new());
    assert_eq!(devices[0].peers([&devices[0]]).unwrap(), []);
}

/// Of the stand-in driver: pairs have four links, groups of four a switch, and so on (`nvml.c`).
#[cfg(all(feature = "cuda", target_os = "linux"))]
#[test]
fn paths_of_gpus_are_those_that_the_driver_and_nvml_tell() {
    let Some(driver) = crate::standin_nccl::simulated(7) else { return };
    let devices: Vec<Device> = (0..7).map(|ordinal| Device::cuda(ordinal).unwrap()).collect();
    let cpu = host(1);
    driver.with_nvml();
    let links = |from: usize| -> Vec<(usize, Link)> {
        let peers = devices[from].peers(devices.iter().chain([&cpu])).unwrap();
        peers
            .into_iter()
            .map(|(peer, link)| (devices.iter().position(|device| device == peer).unwrap(), link))
            .collect()
    };
    let (nvlink, switch, bridge) = (Link::NvLink { links: Some(4) }, Link::PcieSwitch, Link::HostBridge);
    let system = Link::System;
    assert_eq!(links(0), [(1, nvlink), (2, switch), (3, switch), (4, bridge), (5, bridge), (6, system)]);
    assert_eq!(links(4), [(0, bridge), (1, bridge), (2, bridge), (3, bridge), (5, nvlink), (6, system)]);
    let all = [&devices[6], &devices[3], &devices[0], &cpu, &devices[1], &devices[2]];
    let groups = islands(all).unwrap();
    let names =
        |group: &Vec<Device>| group.iter().map(|device| device.name().to_string()).collect::<Vec<_>>().join(" ");
    let told: Vec<String> = groups.iter().map(names).collect();
    assert_eq!(told, ["cuda:6", "cuda:3 cuda:2", "cuda:0 cuda:1", &*cpu.name()]);
    // The same GPU, opened twice.
    let twin = Device::cuda(0).unwrap();
    assert_eq!(twin.peers([&devices[0]]).unwrap(), [(&devices[0], Link::Memory)]);
    driver.set_attribute(-1 - 16 * 2, 0); // 2 has no access to 0
    assert!(devices[2].peers([&devices[0]]).unwrap().is_empty());
    // By their UUIDs. A change of the hash would move the keys of every program: so some are written down.
    let homes: Vec<_> =
        ["", "a", "b", "user 17", "user 18"].map(|key| place(&devices).by_key(key).unwrap().name()).into();
    assert_eq!(
        homes.iter().map(|name| &**name).collect::<Vec<_>>(),
        ["cuda:2", "cuda:3", "cuda:4", "cuda:3", "cuda:3"]
    );
    drop((devices, twin, groups));
    crate::standin_nccl::end(&driver);
}

/// Of the GPUs of this machine: printed.
#[test]
#[ignore = "prints what is there"]
fn paths_of_this_machine() {
    let devices = crate::gpus();
    for device in &devices {
        println!("peers of {}: {:?}", device.name(), device.peers(&devices).unwrap());
    }
    println!("islands: {:?}", islands(&devices).unwrap());
}
