use crate::standin::{device, launch, session};
#[test]
fn self_test_runs_by_its_text() {
    let driver = session();
    driver.by_text(true);
    let device = device(1);
    let x = device.buffer(vec![1f32; 10]).unwrap();
    let x = launch(&device, c"add_one_f32", x).await_result().unwrap();
    assert_eq!(device.to_vec(&x).unwrap(), vec![2f32; 10]);
    eprintln!("ran {}", driver.ran_by_text());
    drop((x, device));
    driver.assert_finished();
}
