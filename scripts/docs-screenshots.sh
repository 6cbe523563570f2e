#!/bin/sh
# Makes the pictures of docs/panel.md and docs/gpu.md: scripts/docs-screenshots.sh [FOLDER [BUILD]]
#
# FOLDER defaults to docs/images; BUILD is a build folder (default: build/release). Needs no display.
set -eu
cd "$(dirname "$0")/.."
folder=${1:-docs/images}
build=${2:-build/release}
kymo=$build/apps/kymo/kymo
training=$build/examples/headless
scene=$build/examples/gpu_scene
for program in "$kymo" "$build/apps/kymo/kymo-viewer" "$training" "$scene"; do
  if [ ! -x "$program" ]; then
    echo "docs-screenshots: $program is not there: cmake --build $build --target kymo_command kymo_viewer headless gpu_scene" >&2
    exit 1
  fi
done
mkdir -p "$folder"
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT

# Under kymo record, for run states; where the kernel refuses them, the pictures lack the lanes.
record() {
  rm -f "$made/$1"
  "$kymo" record -q --hz 0 -o "$made/$1" -- "$training" >&2
}

record run.kymo
# A frame of typical length: the one in the middle.
at=$("$kymo" stats --slowest-frames 2000 "$made/run.kymo" |
  sed -n 's/^frame .* from \([0-9.]*\) \(m\{0,1\}s\) on$/\1\2/p' | sed -n 1000p)
# Ignore the user's own window layout.
export XDG_CONFIG_HOME="$made"
"$kymo" view --screenshot "$made/panel-view.png" --size 1180x500 --theme dark --at "$at" "$made/run.kymo"
"$kymo" view --screenshot "$made/panel-statistics.png" --size 1180x640 --theme light --tab statistics "$made/run.kymo"

"$kymo" view --screenshot "$made/panel-explain.png" --size 1180x640 --theme dark --tab explain "$made/run.kymo"

record before.kymo
"$kymo" view --screenshot "$made/panel-compare.png" --size 1080x620 --theme dark --base "$made/before.kymo" \
  --align frame --at "$at" "$made/run.kymo"

KYMO_SAMPLE=0 "$scene" --frames 8 "$made/scene.kymo" >&2
# One frame and the beginning of the next, which includes the rest of its GPU work.
stretch=$("$kymo" stats --slowest-frames 8 "$made/scene.kymo" | awk '
  function ms(value, unit) { return unit ~ /^ms/ ? value : value * 1000 }
  /^frame 5: / { length_ms = ms($3, $4); from = ms($6, $7)
    printf "%dms..%dms", from - length_ms / 8, from + length_ms * 3 / 2 }')
"$kymo" view --screenshot "$made/gpu-scene.png" --size 1180x440 --theme dark --time "$stretch" "$made/scene.kymo"
mv "$made"/panel-*.png "$made/gpu-scene.png" "$folder"
ls -l "$folder"/panel-*.png "$folder/gpu-scene.png"
