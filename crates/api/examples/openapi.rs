//! Writes `docs/openapi.json`. `cargo xtask openapi` starts it.

fn main() -> std::io::Result<()> {
    std::fs::write(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/openapi.json"), setpoint_api::openapi::text())
}
