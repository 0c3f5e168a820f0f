//! first
use windlass::*;
#[test]
fn gemm_on_host() -> Result<()> {
    let device = Device::host()?;
    let a = device.upload(vec![1.0f64; 6])?.into_output();
    let b = device.upload(vec![2.0f64; 12])?.into_output();
    let c = device.zeros::<f64>(8)?;
    let c = device.blas().gemm(Gemm::new(2, 4, 3), &a, &b, c)?.await_result()?;
    assert_eq!(device.download(&c)?.await_result()?, [6.0; 8]);
    let mut x = device.upload(vec![0.0f32; 4])?.into_output();
    let one = device.upload(vec![1.0f32; 4])?.into_output();
    let t = std::time::Instant::now();
    for _ in 0..100_000 { x = device.blas().axpy(1.0, &one, x)?.into_output(); }
    println!("{:?}", t.elapsed());
    assert_eq!(device.download(&x)?.await_result()?, [100000.0; 4]);
    println!("{:?}", device.stats());
    device.rebuild(std::time::Duration::from_secs(1))?;
    println!("{:?}", device.blas().nrm2(&x).unwrap_err());
    let device = Device::builder().host().fault_plan(FaultPlan::new().poison_every(5)).restart_policy(RestartPolicy::unlimited()).open()?;
    let t = std::time::Instant::now();
    let mut n = 0;
    for i in 0..2000 { 
        match device.upload(vec![1.0f32]).and_then(|p| Ok(p.await_result()?)) { Ok(_) => {}, Err(e) => { n += 1; if i < 50 { println!("{e}"); } device.wait_healthy(std::time::Duration::from_secs(1))?; } } }
    println!("{n} faults {:?} {:?}", t.elapsed(), device.stats());
    Ok(())
}
