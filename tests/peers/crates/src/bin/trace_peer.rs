//! trace_peer read FILE: prints each event of a trace, a line of JSON each.
//! trace_peer write FILE: writes a trace.
use std::{env, fs};

use ferrum_bench_core::trace::{TraceEvent, TraceWriter};

fn main() {
    let arguments: Vec<String> = env::args().collect();
    let (mode, path) = (arguments[1].as_str(), arguments[2].as_str());
    if mode == "read" {
        let text = fs::read_to_string(path).expect("the trace");
        let events: Vec<TraceEvent> = serde_json::from_str(&text).expect("events of whole microseconds");
        for event in events {
            println!("{}", serde_json::to_string(&event).expect("a line"));
        }
    } else {
        let writer = TraceWriter::enabled(path.into());
        let mut shape = serde_json::Map::new();
        shape.insert("rows".into(), 4.into());
        std::thread::sleep(std::time::Duration::from_millis(20));
        writer.push("load", "io", 0.123, 1);
        writer.push_with_args("step \"ä\"", "train", 2.5, 2, shape);
        // It flushes once, at its end: a second flush of its own would replace the first.
    }
}
