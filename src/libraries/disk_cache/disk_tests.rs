//! Tests of the disk cache, with answers that no compiler made.

use super::*;
use crate::core::clock::{Clock, ManualClock};
use crate::libraries::nvrtc::testing::Folder;

fn answer(bytes: usize) -> Answer {
    Answer { bytes: vec![7; bytes], log: "log".into(), names: vec![("f".into(), "_f".into())] }
}

fn any(_: &Answer) -> bool {
    true
}

fn material(number: u32) -> Vec<u8> {
    format!("material {number}").into_bytes()
}

fn files(disk: &Disk) -> Vec<PathBuf> {
    let mut all: Vec<_> = std::fs::read_dir(disk.folder()).unwrap().map(|item| item.unwrap().path()).collect();
    all.sort();
    all
}

fn bytes(disk: &Disk) -> u64 {
    files(disk).iter().map(|path| path.metadata().unwrap().len()).sum()
}

fn counted(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}

#[test]
fn what_was_put_is_got_by_another_process_too() {
    let folder = Folder::new();
    let disk = Disk::new(&folder.join("deep/er"), "kernels", 1 << 20);
    assert_eq!(disk.get(&material(1), any), None);
    disk.put(&material(1), &answer(100));
    assert_eq!(disk.get(&material(1), any), Some(answer(100)));
    assert_eq!(disk.get(&material(2), any), None);
    let other = Disk::new(&folder.join("deep/er"), "kernels", 1 << 20);
    assert_eq!(other.get(&material(1), any), Some(answer(100)));
    assert_eq!(
        (counted(&disk.hits), counted(&disk.misses), counted(&disk.stored), counted(&disk.failures)),
        (1, 2, 1, 0)
    );
}

#[test]
fn damaged_truncated_and_foreign_entries_are_ignored_and_replaced() {
    let folder = Folder::new();
    let disk = Disk::new(folder.path(), "kernels", 1 << 20);
    disk.put(&material(1), &answer(100));
    let path = files(&disk).remove(0);
    let sound = std::fs::read(&path).unwrap();
    let mut flipped = sound.clone();
    flipped[sound.len() / 2] ^= 1;
    let spoilt = [
        flipped,
        sound[..sound.len() - 1].to_vec(),
        Vec::new(),
        b"something else".to_vec(),
        // The same name with another answer, as if the hashes were equal.
        entry::write(&material(2), &answer(5)),
    ];
    for (i, contents) in spoilt.into_iter().enumerate() {
        std::fs::write(&path, contents).unwrap();
        assert_eq!(disk.get(&material(1), any), None, "case {i}");
        assert_eq!(counted(&disk.refused), i as u64 + 1);
        disk.put(&material(1), &answer(100));
        assert_eq!(disk.get(&material(1), any), Some(answer(100)), "case {i}");
    }
    assert_eq!(files(&disk), [path]);
    assert_eq!(counted(&disk.failures), 0);
}

#[test]
fn the_entries_used_longest_ago_go_first_and_the_bound_holds() {
    let folder = Folder::new();
    let one = entry::write(&material(1), &answer(1000)).len() as u64;
    let limit = 4 * one;
    let clock = ManualClock::new();
    let disk = Disk::by(folder.path(), "kernels", limit, Timing::by(clock).keep());
    let pause = || clock.advance(Duration::from_secs(1)); // each is used at a time of its own
    for i in 1..=4 {
        disk.put(&material(i), &answer(1000));
        pause();
    }
    assert_eq!(disk.get(&material(1), any), Some(answer(1000)));
    pause();
    assert_eq!(counted(&disk.evicted), 0);
    disk.put(&material(5), &answer(1000));
    // At most 3.5 entries fit: two are removed, and they are the least recently used ones.
    assert_eq!(counted(&disk.evicted), 2);
    let there: Vec<u32> = (1..=5).filter(|&i| disk.get(&material(i), any).is_some()).collect();
    assert_eq!(there, [1, 4, 5]);
    for i in 6..60 {
        pause();
        disk.put(&material(i), &answer(1000));
        assert!(bytes(&disk) <= limit, "{} of {limit}", bytes(&disk));
    }
}

/// A clock that was set back leaves entries with future times. New entries must not count as older than those.
#[test]
fn entries_of_the_future_are_the_first_to_go() {
    let folder = Folder::new();
    let disk = Disk::new(folder.path(), "kernels", 10_000);
    let tomorrow = Clock::SYSTEM.today() + Duration::from_secs(86_400);
    disk.put(&material(0), &answer(2500));
    std::fs::write(disk.folder().join("left.tmp"), "half").unwrap();
    disk.put(&material(1), &answer(2500));
    disk.put(&material(2), &answer(2500));
    for path in files(&disk) {
        File::options().write(true).open(path).unwrap().set_modified(tomorrow).unwrap();
    }
    disk.put(&material(3), &answer(2500));
    assert_eq!(disk.get(&material(3), any), Some(answer(2500)), "the one just written stays");
    assert!(bytes(&disk) <= 10_000);
    assert_eq!(counted(&disk.evicted), 1);
    assert!(!disk.folder().join("left.tmp").exists(), "nobody writes to it: it is not of today");
}

/// Another process began to write it while the folder was being listed.
#[test]
fn a_file_that_is_being_written_stays_however_new_it_is() {
    let folder = Folder::new();
    let disk = Disk::new(folder.path(), "kernels", 10_000);
    folder.write("kernels/1-0-0.tmp", "being written");
    let soon = Clock::SYSTEM.today() + Duration::from_secs(60);
    File::options().write(true).open(folder.join("kernels/1-0-0.tmp")).unwrap().set_modified(soon).unwrap();
    disk.put(&material(1), &answer(100));
    assert!(folder.join("kernels/1-0-0.tmp").exists());
}

#[test]
fn an_answer_that_its_reader_does_not_take_is_refused() {
    let folder = Folder::new();
    let disk = Disk::new(folder.path(), "kernels", 1 << 20);
    disk.put(&material(1), &answer(100));
    assert_eq!(disk.get(&material(1), |answer| answer.bytes.len() > 100), None);
    assert_eq!((counted(&disk.refused), counted(&disk.misses), counted(&disk.hits)), (1, 1, 0));
}

#[test]
fn an_entry_larger_than_the_bound_is_not_stored() {
    let folder = Folder::new();
    let disk = Disk::new(folder.path(), "kernels", 1000);
    disk.put(&material(1), &answer(2000));
    assert_eq!(disk.get(&material(1), any), None);
    assert_eq!(counted(&disk.stored), 0);
    assert_eq!(counted(&disk.failures), 1);
}

#[test]
fn what_is_not_ours_in_the_folder_stays_and_what_was_left_behind_goes() {
    let folder = Folder::new();
    let disk = Disk::new(folder.path(), "kernels", 3000);
    disk.put(&material(0), &answer(100));
    folder.write("kernels/notes.txt", vec![0; 5000]);
    folder.write("kernels/1-0-0.tmp", "left behind");
    folder.write("kernels/2-0-0.tmp", "being written");
    let old = Clock::SYSTEM.today() - 2 * Timing::standard().files.abandoned;
    File::options().write(true).open(folder.join("kernels/1-0-0.tmp")).unwrap().set_modified(old).unwrap();
    for i in 1..40 {
        disk.put(&material(i), &answer(100));
    }
    assert!(folder.join("kernels/notes.txt").exists());
    assert!(folder.join("kernels/2-0-0.tmp").exists());
    assert!(!folder.join("kernels/1-0-0.tmp").exists());
    assert!(disk.get(&material(39), any).is_some(), "the notes do not count");
}

#[test]
fn a_place_that_cannot_be_a_folder_is_no_error() {
    let disk = Disk::new(Path::new("/dev/null/cache"), "kernels", 1 << 20);
    disk.put(&material(1), &answer(100));
    assert_eq!(disk.get(&material(1), any), None);
    assert!(counted(&disk.failures) >= 1);
    assert_eq!(counted(&disk.stored), 0);
}

#[test]
#[cfg(unix)]
fn the_folder_is_for_its_owner_alone_and_one_that_is_not_is_not_used() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new();
    let disk = Disk::new(&folder.join("cache"), "kernels", 1 << 20);
    disk.put(&material(1), &answer(100));
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&folder.join("cache")), mode(disk.folder())), (0o700, 0o700));
    assert_eq!(mode(&files(&disk)[0]), 0o600);
    std::fs::set_permissions(disk.folder(), std::fs::Permissions::from_mode(0o777)).unwrap();
    assert_eq!(disk.get(&material(1), any), None);
    disk.put(&material(2), &answer(100));
    assert_eq!(files(&disk).len(), 1);
    std::fs::set_permissions(disk.folder(), std::fs::Permissions::from_mode(0o700)).unwrap();
    assert_eq!(disk.get(&material(1), any), Some(answer(100)));
}

/// Whether folder permissions apply to this process. They do not apply to root: then the test runs again in a process
/// of user `nobody`.
#[cfg(unix)]
fn is_bound_by_modes(test: &str) -> bool {
    const NOBODY: u32 = 65534;
    const CHILD: &str = "WINDLASS_TEST_AS_NOBODY";
    // SAFETY: it takes and touches nothing.
    if unsafe { libc::geteuid() } != 0 {
        return true;
    }
    if std::env::var_os(CHILD).is_some() {
        // SAFETY: this process runs only one test, and may give up root's rights.
        let outcome = unsafe { (libc::setgid(NOBODY), libc::setuid(NOBODY)) };
        assert_eq!(outcome, (0, 0), "{}", std::io::Error::last_os_error());
        return true;
    }
    passes_in_a_child(test, CHILD);
    false
}

/// Runs one of these tests in a process of its own, with `variable` set.
#[cfg(unix)]
fn passes_in_a_child(test: &str, variable: &str) {
    let name = format!("libraries::disk_cache::disk::tests::{test}");
    let mut child = std::process::Command::new(std::env::current_exe().unwrap());
    let output = child.args(["--exact", &name]).env(variable, "").output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
}

/// Files of this process cannot grow beyond 4 KiB, so a write stops in the middle, as on a full disk.
#[test]
#[cfg(unix)]
fn an_entry_that_was_written_in_part_is_taken_away_again() {
    const CHILD: &str = "WINDLASS_TEST_SMALL_FILES";
    if std::env::var_os(CHILD).is_none() {
        passes_in_a_child("an_entry_that_was_written_in_part_is_taken_away_again", CHILD);
        return;
    }
    let folder = Folder::new();
    let disk = Disk::new(folder.path(), "kernels", 1 << 20);
    disk.put(&material(1), &answer(100));
    let limit = libc::rlimit { rlim_cur: 4096, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: this process runs only one test. The signal would end the process; with the signal ignored, the write
    // fails. The limit is read during the call.
    let (_, outcome) =
        unsafe { (libc::signal(libc::SIGXFSZ, libc::SIG_IGN), libc::setrlimit(libc::RLIMIT_FSIZE, &limit)) };
    assert_eq!(outcome, 0, "{}", std::io::Error::last_os_error());
    disk.put(&material(2), &answer(100_000));
    assert_eq!((counted(&disk.stored), counted(&disk.failures)), (1, 1));
    assert_eq!(files(&disk).len(), 1, "neither a part of the entry nor its temporary file stays");
    assert_eq!(disk.get(&material(2), any), None);
    assert_eq!(disk.get(&material(1), any), Some(answer(100)), "what was there before still answers");
}

#[test]
#[cfg(unix)]
fn a_read_only_folder_still_answers() {
    use std::os::unix::fs::PermissionsExt;
    if !is_bound_by_modes("a_read_only_folder_still_answers") {
        return;
    }
    let folder = Folder::new();
    let disk = Disk::new(folder.path(), "kernels", 1 << 20);
    disk.put(&material(1), &answer(100));
    std::fs::set_permissions(disk.folder(), std::fs::Permissions::from_mode(0o500)).unwrap();
    assert_eq!(disk.get(&material(1), any), Some(answer(100)));
    // Only the counter reports this failure.
    disk.put(&material(2), &answer(100));
    assert_eq!((counted(&disk.stored), counted(&disk.failures)), (1, 1));
    assert_eq!(disk.get(&material(2), any), None);
    std::fs::set_permissions(disk.folder(), std::fs::Permissions::from_mode(0o700)).unwrap();
}

#[test]
fn readers_never_see_a_part_of_what_many_writers_write() {
    let folder = Folder::new();
    let disk = Disk::new(folder.path(), "kernels", 64 << 20);
    let large = answer(200_000);
    disk.put(&material(1), &large);
    let writing = AtomicU64::new(3);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let own = Disk::new(folder.path(), "kernels", 64 << 20);
                for _ in 0..100 {
                    own.put(&material(1), &large);
                }
                writing.fetch_sub(1, Ordering::Release);
                assert_eq!(counted(&own.failures), 0);
            });
        }
        for _ in 0..2 {
            scope.spawn(|| {
                while writing.load(Ordering::Acquire) > 0 {
                    assert_eq!(disk.get(&material(1), any).as_ref(), Some(&large));
                }
            });
        }
    });
    assert_eq!((counted(&disk.misses), counted(&disk.refused)), (0, 0));
    assert_eq!(files(&disk).len(), 1, "no temporary file stays");
}

const HAMMER: &str = "WINDLASS_TEST_CACHE_HAMMER";

/// The other process of the test below; does nothing in a normal run.
#[test]
fn hammers_one_entry() {
    let Some(folder) = std::env::var_os(HAMMER) else { return };
    let disk = Disk::new(Path::new(&folder), "kernels", 64 << 20);
    let large = answer(50_000);
    for _ in 0..200 {
        disk.put(&material(1), &large);
        assert_eq!(disk.get(&material(1), any).as_ref(), Some(&large));
    }
    assert_eq!((counted(&disk.failures), counted(&disk.refused), counted(&disk.misses)), (0, 0, 0));
}

#[test]
fn processes_that_write_one_entry_at_the_same_time_do_not_meet() {
    let folder = Folder::new();
    let start = || {
        std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "libraries::disk_cache::disk::tests::hammers_one_entry"])
            .env(HAMMER, folder.path())
            .output()
    };
    std::thread::scope(|scope| {
        let children: Vec<_> = (0..3).map(|_| scope.spawn(start)).collect();
        for child in children {
            let output = child.join().unwrap().unwrap();
            let text = String::from_utf8_lossy(&output.stdout);
            assert!(output.status.success() && text.contains("1 passed"), "{text}");
        }
    });
    let disk = Disk::new(folder.path(), "kernels", 64 << 20);
    assert_eq!(disk.get(&material(1), any), Some(answer(50_000)));
    assert_eq!(files(&disk).len(), 1, "no temporary file stays");
}

/// Anything else in the place of an entry does not block the cache, and is replaced.
#[test]
#[cfg(unix)]
fn what_is_no_file_in_an_entrys_place_is_replaced() {
    use std::ffi::CString;
    let folder = Folder::new();
    let disk = std::sync::Arc::new(Disk::new(folder.path(), "kernels", 1 << 20));
    disk.put(&material(1), &answer(100));
    let path = files(&disk).remove(0);
    let pipe = |path: &Path| {
        let name = CString::new(path.to_str().unwrap()).unwrap();
        // SAFETY: a string with its zero at the end.
        assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
    };
    let others: [&dyn Fn(&Path); 4] = [
        &pipe,
        &|path| std::fs::create_dir(path).unwrap(),
        &|path| std::fs::create_dir_all(path.join("with/something")).unwrap(),
        &|path| std::os::unix::fs::symlink("/dev/zero", path).unwrap(),
    ];
    for (case, make) in others.into_iter().enumerate() {
        std::fs::remove_file(&path).unwrap();
        make(&path);
        let (send, receive) = std::sync::mpsc::channel();
        let looking = disk.clone();
        std::thread::spawn(move || send.send(looking.get(&material(1), any)));
        let got = receive.recv_timeout(Duration::from_secs(60)).expect("it is waited for");
        assert_eq!(got, None, "case {case}");
        disk.put(&material(1), &answer(100));
        assert_eq!(disk.get(&material(1), any), Some(answer(100)), "case {case}");
    }
    assert_eq!(counted(&disk.failures), 0);
}
