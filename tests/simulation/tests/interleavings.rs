//! scratch
#[test]
fn all() {
    let cast = std::env::var("CAST").ok();
    let schedule = std::env::var("SCHEDULE").ok();
    let code = simulation::interleavings::main(cast.as_deref(), schedule.as_deref());
    println!("{code:?}");
}
