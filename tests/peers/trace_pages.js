// Opens traces in Perfetto's UI and in speedscope, as a user would, in a headless Chromium:
//
//   node trace_pages.js NPM_FOLDER CHROMIUM < pages.json
//
// NPM_FOLDER holds playwright-core. pages.json is an array of {viewer: "perfetto" or "speedscope", traces}; a page opens its
// traces one after the other. A trace is {url, queries, tracks}: url opens the viewer with it. Of Perfetto the page asks the
// queries, and waits until it names the tracks beside a coloured timeline. Writes a JSON array with one object for each trace:
//   problems   what was thrown, shown as an error or written to the console as a warning of the viewer
//   rows       (Perfetto) the rows of each of the queries, arrays of cells, by the engine that the page itself uses
//   tracks     (Perfetto) the names beside the timeline, from top to bottom, all groups open
//   coloured   (Perfetto) the part of the timeline that is not grey
//   profile    (speedscope) what its Export button hands out
// KYMO_TEST_SCREENSHOTS names a folder for a picture of each page.
'use strict';
const fs = require('fs');
const path = require('path');

const deadline = 45000;

// What the pages say when there is nothing wrong. They look for servers that may be on this machine and for their makers'
// network, of which they reach nothing here; of two calls of one name that end at once speedscope may end the other one.
const harmless = [/Content-Security-Policy/, /Failed to load resource/, /LiveReload/, /unsupported syscall/, /Loading trace/,
  /GPU stall due to ReadPixels/, /^ts=.*: Tried to end ".* Ending .* instead\.$/];

async function newPage(browser, origin) {
  const context = await browser.newContext({
    viewport: { width: 1200, height: 1100 },
    serviceWorkers: 'block',
    acceptDownloads: true,
  });
  context.setDefaultTimeout(deadline);
  const page = await context.newPage();
  const problems = [];
  page.on('pageerror', (error) => problems.push(`thrown: ${error.message}`));
  page.on('dialog', (dialog) => {
    problems.push(`alert: ${dialog.message()}`);
    dialog.dismiss().catch(() => {});
  });
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type()) && !harmless.some((known) => known.test(message.text()))) {
      problems.push(`${message.type()}: ${message.text()}`);
    }
  });
  await context.route((asked) => asked.origin !== origin, (route) => route.abort());
  return { page, problems };
}

async function askPerfetto(page, problems, { url, queries, tracks }) {
  const modal = '.pf-modal-dialog, .modal-dialog';
  // Another trace in its address is opened by the page that is there.
  await page.goto(url);
  await page.waitForFunction((dialog) => document.querySelector(dialog)
    || (window.app && window.app.trace && window.app.trace.traceInfo !== window.seen && !window.app.isLoadingTrace), modal);
  for (const text of await page.locator(modal).allInnerTexts()) {
    problems.push(`dialog: ${text}`);
  }
  if (problems.length > 0) {
    return {};
  }
  const rows = await page.evaluate(async (queries) => {
    window.seen = window.app.trace.traceInfo;
    const results = [];
    for (const query of queries) {
      const result = await window.app.trace.engine.query(query);
      const columns = result.columns();
      const rows = [];
      for (const it = result.iter({}); it.valid(); it.next()) {
        rows.push(columns.map((column) => {
          const value = it.get(column);
          return typeof value === 'bigint' ? Number(value) : value;
        }));
      }
      results.push(rows);
    }
    return results;
  }, queries);
  // Tracks are listed and drawn as they come into view, and their content when it is loaded.
  await page.evaluate(() => window.app.trace.commands.runCommand('dev.perfetto.ExpandAllGroups'));
  const shown = await page.waitForFunction(({ names, heading }) => {
    const tracks = [...document.querySelectorAll(heading)].map((title) => title.innerText.split('\n')[0]);
    const small = new OffscreenCanvas(200, 200);
    const context = small.getContext('2d', { willReadFrequently: true });
    const share = (canvas) => {
      context.clearRect(0, 0, small.width, small.height);
      context.drawImage(canvas, 0, 0, small.width, small.height);
      const { data } = context.getImageData(0, 0, small.width, small.height);
      let count = 0;
      for (let at = 0; at < data.length; at += 4) {
        const [red, green, blue] = [data[at], data[at + 1], data[at + 2]];
        count += Math.max(red, green, blue) - Math.min(red, green, blue) > 40 ? 1 : 0;
      }
      return count / (small.width * small.height);
    };
    const timelines = [...document.querySelectorAll('canvas')].filter(({ width, height }) => width > 500 && height > 500);
    const coloured = Math.max(0, ...timelines.map(share));
    return coloured > 0.03 && names.every((name) => tracks.includes(name)) ? { tracks, coloured } : null;
  }, { names: tracks, heading: '.pf-track__title' }, { polling: 100 });
  for (const text of await page.locator(modal).allInnerTexts()) {
    problems.push(`dialog: ${text}`);
  }
  return { rows, ...(await shown.jsonValue()) };
}

async function askSpeedscope(page, { url }) {
  await page.goto('about:blank');
  await page.goto(url);
  const button = page.getByText('Export', { exact: false }).first();
  await button.waitFor();
  const [download] = await Promise.all([page.waitForEvent('download'), button.click()]);
  return { profile: JSON.parse(fs.readFileSync(await download.path(), 'utf8')) };
}

async function ask(browser, { viewer, traces }, number) {
  const { page, problems } = await newPage(browser, new URL(traces[0].url).origin);
  const answers = [];
  for (const trace of traces) {
    let answer = {};
    try {
      answer = await (viewer === 'perfetto' ? askPerfetto(page, problems, trace) : askSpeedscope(page, trace));
    } catch (error) {
      problems.push(`${viewer}: ${error.message}; the page shows: ${(await page.innerText('body')).slice(0, 1000)}`);
    }
    if (process.env.KYMO_TEST_SCREENSHOTS) {
      const name = `${viewer}-${number}-${answers.length}.png`;
      await page.screenshot({ path: path.join(process.env.KYMO_TEST_SCREENSHOTS, name) });
    }
    answers.push({ problems: problems.splice(0), ...answer });
  }
  return answers;
}

async function main([npmFolder, chromium]) {
  const { chromium: browsers } = require(path.resolve(npmFolder, 'playwright-core'));
  const pages = JSON.parse(fs.readFileSync(0, 'utf8'));
  const browser = await browsers.launch({
    executablePath: chromium,
    headless: true,
    // As root there is no sandbox, in containers little shared memory; speedscope draws with WebGL, here without a GPU. To
    // optimise the code of Perfetto's engine takes a third of the time, for two small traces.
    args: ['--no-sandbox', '--disable-dev-shm-usage', '--enable-unsafe-swiftshader', '--js-flags=--liftoff-only'],
    timeout: deadline,
  });
  try {
    const answers = await Promise.all(pages.map((page, i) => ask(browser, page, i)));
    process.stdout.write(JSON.stringify(answers.flat()) + '\n');
  } finally {
    await browser.close();
  }
}

main(process.argv.slice(2)).catch((error) => {
  process.stderr.write(`trace_pages: ${String(error.stack || error).slice(0, 4000)}\n`);
  process.exitCode = 1;
});
