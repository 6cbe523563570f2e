//! What the crate ruvector-profiler makes of records: reads JSON from stdin, prints JSON, writes the crate's CSV files into
//! the folder of its argument.
use std::{env, io, path::Path};

use ruvector_profiler::power::estimate_energy;
use ruvector_profiler::{
    compute_latency_stats, config_hash, write_latency_csv, write_memory_csv, write_results_csv, BenchConfig, LatencyRecord,
    MemorySnapshot, MemoryTracker, PowerSample, ResultRow,
};
use serde_json::{from_value, json, Value};

fn main() {
    let folder = env::args().nth(1).expect("a folder");
    let path = |name: &str| Path::new(&folder).join(name).to_str().expect("a name").to_string();
    let mut given: Value = serde_json::from_reader(io::stdin()).expect("JSON");
    let latencies: Vec<LatencyRecord> = from_value(given["latencies"].take()).expect("latencies");
    let power: Vec<PowerSample> = from_value(given["power"].take()).expect("power");
    let memory: Vec<MemorySnapshot> = from_value(given["memory"].take()).expect("memory");
    let results: Vec<ResultRow> = from_value(given["results"].take()).expect("results");
    let configs: Vec<BenchConfig> = from_value(given["configs"].take()).expect("configs");
    write_latency_csv(&path("latency.csv"), &latencies).expect("latency.csv");
    write_memory_csv(&path("memory.csv"), &memory).expect("memory.csv");
    write_results_csv(&path("results.csv"), &results).expect("results.csv");
    let mut tracker = MemoryTracker::new("peer");
    tracker.snapshots = memory;
    let said = json!({
        "latency": compute_latency_stats(&latencies),
        "energy": estimate_energy(&power),
        "memory": tracker.report(),
        "hashes": configs.iter().map(config_hash).collect::<Vec<_>>(),
    });
    println!("{said}");
}
