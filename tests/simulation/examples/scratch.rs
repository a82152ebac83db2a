//! scratch
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;
fn main() -> std::process::ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    simulation::interleavings::main(arguments.first().map(String::as_str), arguments.get(1).map(String::as_str))
}
