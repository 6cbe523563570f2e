"""Prometheus's own parser reads what kymo exports and serves, and finds the values that stats has.

openmetrics_peer.py KYMO PROGRAM
"""

import json
import os
import subprocess
import sys
import tempfile
import urllib.request

from prometheus_client.openmetrics.parser import text_string_to_metric_families


def expect(what, got, wanted):
    if got != wanted:
        sys.exit(f"{what}: {got}, and not {wanted}")


def families_of(text):
    return {family.name: family for family in text_string_to_metric_families(text)}


def scrape(kymo, capture):
    server = subprocess.Popen(
        [kymo, "export", "--to", "openmetrics", "--listen", "127.0.0.1:0", capture], stdout=subprocess.PIPE, text=True
    )
    try:
        with urllib.request.urlopen(server.stdout.readline().strip()) as answer:
            expect(
                "content type",
                answer.headers["Content-Type"],
                "application/openmetrics-text; version=1.0.0; charset=utf-8",
            )
            return answer.read().decode()
    finally:
        server.terminate()
        expect("exit status", server.wait(), 0)


def main():
    kymo, program = sys.argv[1:3]
    with tempfile.TemporaryDirectory() as directory:
        capture = os.path.join(directory, "run.kymo")
        subprocess.run([kymo, "record", "-q", "-o", capture, "--", program, "scopes", "5000"], check=True)
        exported = subprocess.run(
            [kymo, "export", "--to", "openmetrics", "-o", "/dev/stdout", capture],
            check=True,
            stdout=subprocess.PIPE,
            text=True,
        ).stdout
        stats = json.loads(
            subprocess.run([kymo, "stats", "--json", capture], check=True, stdout=subprocess.PIPE, text=True).stdout
        )
        served = families_of(scrape(kymo, capture))
        for name, family in families_of(exported).items():
            expect(
                name,
                [(s.name, s.labels, s.value, s.timestamp) for s in served[name].samples],
                [(s.name, s.labels, s.value, s.timestamp) for s in family.samples],
            )
        expect("answer", [sample.value for sample in served["answer"].samples], [42.0])
        scopes = served["kymo_scope_seconds"]
        expect("type and unit", (scopes.type, scopes.unit), ("summary", "seconds"))
        site = next(row for row in stats["sites"] if row["name"] == "work")
        told = {sample.labels.get("quantile", sample.name): sample.value for sample in scopes.samples}
        for quantile, key in (
            ("0", "min_ns"),
            ("0.5", "p50_ns"),
            ("0.95", "p95_ns"),
            ("0.99", "p99_ns"),
            ("1", "max_ns"),
            ("kymo_scope_seconds_sum", "total_ns"),
        ):
            expect(quantile, round(told[quantile] * 1e9), site[key])
        expect("count", told["kymo_scope_seconds_count"], 5000)
        expect("frames", [s.value for s in served["kymo_frame_seconds"].samples if s.name.endswith("_count")], [1.0])


main()
