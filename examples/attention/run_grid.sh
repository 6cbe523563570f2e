#!/bin/sh
# Runs attention over a grid of settings and says what each came to.
#
#   run_grid.sh [--samples N] [--output-dir DIR] [--lambda "0.3 0.5 0.7"] [--tau "0 2"] [--seed N] [--repetitions N]
#
# Defaults: 1000 samples, DIR ./attention-grid, seed 42, 2 repetitions (the second says whether the first's decisions come
# again). Leaves in DIR: csv/{baseline,mincut_l<lambda>_t<tau>,results}.csv, witness/mincut_l<lambda>_t<tau>.jsonl and
# witness/witness.rvf, figs/, summary.md with the verdicts, and what `kymo bench run` makes. Interrupted, the same command
# goes on from there. KYMO and ATTENTION name the two programs; without, those of this checkout's newest build are taken.
set -eu
samples=1000
output=attention-grid
lambdas="0.3 0.5 0.7"
taus="0 2"
seed=42
repetitions=2

usage() {
  sed -n '2,9s/^# \{0,1\}//p' "$0"
  exit "$1"
}
while [ $# -gt 0 ]; do
  case $1 in
    -h | --help) usage 0 ;;
    --samples | --output-dir | --lambda | --tau | --seed | --repetitions)
      [ $# -ge 2 ] || { echo "run_grid: $1 lacks its value" >&2; exit 2; }
      case $1 in
        --samples) samples=$2 ;;
        --output-dir) output=$2 ;;
        --lambda) lambdas=$2 ;;
        --tau) taus=$2 ;;
        --seed) seed=$2 ;;
        --repetitions) repetitions=$2 ;;
      esac
      shift 2
      ;;
    *) echo "run_grid: $1 is not known" >&2; usage 2 >&2 ;;
  esac
done
# They become JSON numbers and parts of file names.
for word in $lambdas; do
  case $word in
    *[!0-9.]* | .* | *. | *.*.*) echo "run_grid: --lambda: $word is no plain number such as 0.5" >&2; exit 2 ;;
  esac
done
for word in $samples $taus $seed $repetitions; do
  case $word in
    *[!0-9]* | 0?*) echo "run_grid: $word is no whole number" >&2; exit 2 ;;
  esac
done
[ -n "$lambdas" ] && [ -n "$taus" ] || { echo "run_grid: --lambda and --tau need a value" >&2; exit 2; }

root=$(cd "$(dirname "$0")/../.." && pwd)
newest() {
  ls -t "$root"/build/*/"$1" 2>/dev/null | head -n 1
}
kymo=${KYMO:-$(newest apps/kymo/kymo)}
attention=${ATTENTION:-$(newest examples/attention/attention)}
if [ ! -x "$kymo" ] || [ ! -x "$attention" ]; then
  echo "run_grid: kymo and the examples are not built; cmake --preset dev && cmake --build --preset dev" >&2
  exit 1
fi
mkdir -p "$output/csv" "$output/witness"
output=$(cd "$output" && pwd)

# Converts a text to a JSON string.
quote() {
  printf '"%s"' "$(printf '%s' "$1" | sed 's/[\\"]/\\&/g')"
}
# Joins words with commas.
list() {
  printf '%s' "$*" | tr -s ' ' ','
}
# Escapes a word of the plan's commands, in which braces mark placeholders.
word() {
  quote "$(printf '%s' "$1" | sed 's/[{}]/&&/g')"
}

cat >"$output/plan.json" <<END
{
  "name": "Softmax attention gated by minimum cuts",
  "command": [$(word "$attention"), "--gated", "--lambda", "{lambda}", "--tau", "{tau}",
              "--samples", "$samples", "--seed", "{seed}",
              "--csv", "{output}/csv/mincut_l{lambda}_t{tau}.csv",
              "--witness", "{output}/witness/mincut_l{lambda}_t{tau}.jsonl"],
  "parameters": {"lambda": [$(list $lambdas)], "tau": [$(list $taus)]},
  "setting": "mincut_l{lambda}_t{tau}",
  "baseline": {"command": [$(word "$attention"), "--samples", "$samples", "--seed", "{seed}",
                           "--csv", "{output}/csv/baseline.csv"]},
  "repetitions": $repetitions,
  "seed": $seed,
  "criteria": [
    {"name": "coherence delta at least 5 %", "metric": "coherence", "at_least": 1.05, "relative_to_baseline": true},
    {"name": "at most 1 % accuracy lost", "metric": "accuracy", "at_least": 0.99},
    {"name": "KV cache at least 15 % smaller", "metric": "kv_cache_bytes", "at_most": 0.85, "relative_to_baseline": true},
    {"name": "energy per sample at least 10 % lower", "metric": "energy_per_sample_j", "at_most": 0.9,
     "relative_to_baseline": true},
    {"name": "p95 within 10 % of the baseline", "metric": "p95_latency_us", "at_most": 1.1, "relative_to_baseline": true},
    {"name": "witness reproduced", "metric": "witness_reproduced", "at_least": 1}
  ],
  "table": {"path": "csv/results.csv", "columns": [
    {"column": "coherence_delta", "metric": "coherence", "as": "difference"},
    {"column": "kv_cache_reduction", "metric": "kv_cache_bytes", "as": "reduction"},
    {"column": "peak_mem_reduction", "metric": "peak_mem_bytes", "as": "reduction"},
    {"column": "energy_reduction", "metric": "energy_per_sample_j", "as": "reduction"},
    {"column": "p95_latency_us", "metric": "p95_latency_us"},
    {"column": "accuracy", "metric": "accuracy"}
  ]},
  "figures": [
    {"name": "coherence", "metric": "coherence", "x": "lambda", "series": "tau",
     "title": "Cosine similarity to the plain output"},
    {"name": "kv_cache", "metric": "kv_cache_bytes", "x": "lambda", "series": "tau",
     "title": "KV cache per sample (bytes)"},
    {"name": "peak_memory", "metric": "peak_mem_bytes", "title": "Peak memory (bytes)"},
    {"name": "energy", "metric": "energy_per_sample_j", "title": "Energy per sample (J)"},
    {"name": "p95_latency", "metric": "p95_latency_us", "title": "p95 latency of a sample (us)"},
    {"name": "dropped_logits", "metric": "dropped_logits", "x": "lambda", "series": "tau",
     "title": "Logits dropped per sample"}
  ]
}
END

"$kymo" bench run "$output/plan.json" --output-dir "$output"
# Sorted by name, independent of the locale.
LC_ALL=C
export LC_ALL
set -- "$output"/witness/mincut_*.jsonl
"$kymo" bench bundle --output "$output/witness/witness.rvf" "$@"
"$kymo" bench verify "$output/witness/witness.rvf" >/dev/null
echo "On another machine: kymo bench verify witness.rvf --same-as the witness.rvf made there"
