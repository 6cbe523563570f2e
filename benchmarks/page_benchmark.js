// How soon the page shows a capture, from `kymo serve` on loopback, in a headless Chromium:
//
//   node page_benchmark.js KYMO CHROMIUM NPM_FOLDER PAGE_FOLDER CAPTURE [ROUNDS]
//
// Each round opens a new tab with an empty cache. Prints milliseconds from when the address is entered to the first picture, and
// until everything that is to be seen was read, beside what a user waits for in any case: an empty page. The median of
// the rounds, the least and the greatest; and how large the page is, compressed.
'use strict';
const fs = require('node:fs');
const path = require('node:path');
const zlib = require('node:zlib');
const { launch, serve, Tab } = require('../tests/page/served_page.js');

const [pageFolder, capture, rounds = '7'] = process.argv.slice(5, 8);

function line(name, values, unit, goal) {
  const sorted = [...values].sort((a, b) => a - b);
  const text = (value) => `${value.toFixed(0)} ${unit}`;
  const middle = sorted[Math.floor(sorted.length / 2)];
  const verdict = goal === undefined ? '' : `goal < ${goal} ${unit}: ${middle < goal ? 'met' : 'MISSED'}`;
  console.log(`${name.padEnd(60)} ${text(middle).padEnd(10)} ${`${text(sorted[0])} to ${text(sorted.at(-1))}`.padEnd(24)} ${verdict}`);
}

async function measure() {
  const server = await serve(capture, '--page', pageFolder, '--listen', '127.0.0.1:0');
  const browser = await launch();
  const times = { empty: [], first: [], all: [] };
  try {
    for (let round = 0; round < Number(rounds); ++round) {
      const begin = performance.now();
      const empty = await Tab.open(browser, `${server.url}kymo.css`);
      times.empty.push(performance.now() - begin);
      await empty.close();
      const start = performance.now();
      const tab = await Tab.open(browser, server.url);
      await tab.until('nothing is drawn', (state) => state.drawn > 0 && state.length_ns > 0);
      times.first.push(performance.now() - start);
      await tab.settled();
      times.all.push(performance.now() - start);
      await tab.close();
    }
  } finally {
    await browser.close();
    await server.stop();
  }
  return times;
}

async function main() {
  const times = await measure();
  const megabytes = (fs.statSync(capture).size / 1e6).toFixed(0);
  line('a new tab with a file of a kilobyte', times.empty, 'ms');
  line(`the page's first picture of a capture of ${megabytes} MB`, times.first, 'ms', 2000);
  line('everything of it that is to be seen', times.all, 'ms');
  const sizes = fs.readdirSync(pageFolder).map((name) => zlib.gzipSync(fs.readFileSync(path.join(pageFolder, name))).length);
  line('the page, compressed', [sizes.reduce((sum, size) => sum + size, 0) / 1000], 'KB', 1500);
}

main().catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
