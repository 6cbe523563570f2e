// A notebook's page with a widget in it, in a headless Chromium: node widget_page.js CHROMIUM NPM_FOLDER WIDGET_JS POLICY.
// POLICY is the notebook's content security policy.
//
// Stands between the browser and the test, which answers as the kernel would. Lines of JSON: on stdout {question} of the
// widget, {state} of the panel, {status} beside it and {complaints}; on stdin {answer, buffers} in base64, {look}, {type} and {close}.
'use strict';
const fs = require('node:fs');
const path = require('node:path');
const readline = require('node:readline');

const [chromiumPath, npmFolder, widget, policy] = process.argv.slice(2);
const { chromium } = require(path.resolve(npmFolder, 'playwright-core'));
const tell = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);

/// Runs in the browser: a model like anywidget's.
async function show({ code, traits }) {
  const { default: widget } = await import(URL.createObjectURL(new Blob([code], { type: 'text/javascript' })));
  const listeners = new Set();
  window.takeAnswer = (content, buffers) => {
    const bytes = buffers.map((text) => new DataView(Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)).buffer));
    listeners.forEach((listener) => listener(content, bytes));
  };
  const model = {
    get: (name) => traits[name],
    on: (_, listener) => listeners.add(listener),
    off: (_, listener) => listeners.delete(listener),
    send: (content) => window.putQuestion(content),
  };
  widget.render({ model, el: document.body });
}

async function main() {
  const browser = await chromium.launch({
    executablePath: chromiumPath,
    args: ['--no-sandbox', '--enable-unsafe-swiftshader'],
  });
  const context = await browser.newContext({ viewport: { width: 1000, height: 700 }, offline: true });
  const page = await context.newPage();
  const complaints = [];
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('request', (request) => complaints.push(...(/^(blob|about|data):/.test(request.url()) ? [] : [request.url()])));
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type()) && !/GPU stall/.test(message.text())) {
      complaints.push(message.text());
    }
  });
  await page.setContent(`<!doctype html><head><meta http-equiv="Content-Security-Policy" content="${policy}"></head><body></body>`);
  await page.exposeFunction('putQuestion', (question) => tell({ question }));
  const does = {
    start: (given) => page.evaluate(show, { code: fs.readFileSync(widget, 'utf8'), ...given }),
    answer: ([content, buffers]) => page.evaluate(([a, b]) => window.takeAnswer(a, b), [content, buffers]),
    async look() {
      const seen = await page.frames()[1]?.evaluate(async () => {
        const later = new Promise((resolve) => setTimeout(resolve, 1000, null)); // a worker that did not start is silent
        const state = await Promise.race([window.kymoPage?.state() ?? null, later]);
        return { state, origin: window.origin, message: document.getElementById('message')?.textContent };
      }).catch(() => null);
      const focused = await page.evaluate(() => document.activeElement.tagName);
      tell({ state: null, ...seen, focused, status: await page.locator('[role=status]').first().textContent(), complaints });
    },
    async type(text) {
      const box = await page.locator('iframe').boundingBox();
      await page.mouse.click(box.x + box.width / 2, box.y + box.height / 2);
      await page.keyboard.type(text);
    },
    close: () => browser.close(),
  };
  readline.createInterface({ input: process.stdin }).on('line', async (line) => {
    const [[what, given]] = Object.entries(JSON.parse(line));
    await does[what](given);
  }).on('close', () => process.exit());
}

main();
