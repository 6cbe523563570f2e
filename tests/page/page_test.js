// The page, in a headless Chromium, with a real `kymo serve`:
//
//   node page_test.js KYMO CHROMIUM NPM_FOLDER PAGE_FOLDER EXPORT_MODEL RECORDED_PROGRAM
//
// The page's own account of what it shows (apps/web/page_state.hpp) is compared with what is in the captures.
'use strict';
const assert = require('node:assert');
const { execFileSync, spawn } = require('node:child_process');
const fs = require('node:fs');
const http = require('node:http');
const os = require('node:os');
const path = require('node:path');
const { after, before, test } = require('node:test');
const zlib = require('node:zlib');
const { launch, serve, Tab } = require('./served_page.js');

const [pageFolder, exportModel, recordedProgram] = process.argv.slice(5, 8);
const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'kymo-page-'));
const model = path.join(folder, 'model.kymo');
const pageOption = ['--page', pageFolder, '--listen', '127.0.0.1:0'];
let browser;
let truth;

before(async () => {
  execFileSync(exportModel, [folder]);
  truth = JSON.parse(fs.readFileSync(path.join(folder, 'model.json')));
  browser = await launch();
});

after(async () => {
  await browser?.close();
  fs.rmSync(folder, { recursive: true });
});

/// A test with a server and a tab that shows what it serves.
function testServed(name, prepare, check) {
  test(name, async () => {
    const server = await serve(...prepare(), ...pageOption);
    try {
      const tab = await Tab.open(browser, server.url);
      await check(tab, server);
      assert.deepStrictEqual(tab.complaints, []);
      await tab.close();
    } finally {
      await server.stop();
    }
  });
}

const middle = ([from, to]) => (from + to) / 2;
const length = ([from, to]) => to - from;

testServed('A capture is shown and answers to mouse and keyboard', () => [model], async (tab) => {
  const whole = await tab.settled();
  assert.strictEqual(await tab.page.title(), 'model.kymo - kymo');
  assert.strictEqual(whole.arrival, 'complete');
  assert.strictEqual(whole.sites, 12);
  assert.deepStrictEqual(whole.overview_ns, [0, whole.length_ns]);
  assert.deepStrictEqual(whole.shown.map(({ name, size }) => [name, size]), [['model.kymo', fs.statSync(model).size]]);
  assert.ok(whole.frames > 10);

  // A click on a bar pins its frame: one that there really is.
  await tab.click(whole.bars, 0.55, 0.9);
  const pinned = await tab.settled((state) => state.pinned_ns !== null);
  assert.ok(pinned.is_paused);
  const [start, duration] = pinned.pinned_ns;
  const marks = truth.frame_marks;
  const origins = marks.slice(1).map((mark, i) => [marks[i] - start, mark - marks[i]]).filter((frame) => frame[1] === duration);
  assert.ok(origins.length > 0, `no frame takes ${duration} ns`);
  await tab.page.keyboard.press('ArrowRight');
  const next = await tab.settled((state) => state.pinned_ns !== null && state.pinned_ns[0] !== start);
  assert.strictEqual(next.pinned_ns[0], start + duration);
  await tab.page.keyboard.press('Space');
  await tab.settled((state) => state.pinned_ns === null && !state.is_paused);
  await tab.page.keyboard.press('0');
  await tab.settled((state) => length(state.flame_ns) === whole.length_ns);

  // Shift and a drag zoom both axes, and pin the longest frame in it.
  await tab.page.keyboard.down('Shift');
  await tab.drag(whole.bars, 0.4, 0.6);
  await tab.page.keyboard.up('Shift');
  const zoomed = await tab.settled((state) => length(state.overview_ns) < whole.length_ns / 2 && state.pinned_ns !== null);
  assert.ok(Math.abs(middle(zoomed.overview_ns) - whole.length_ns / 2) < whole.length_ns / 4);

  // The wheel zooms the flame chart about the pointer, a double click shows the pinned frame.
  await tab.page.mouse.move(...await tab.at(zoomed.flame, 0.5, 0.5));
  await tab.page.mouse.wheel(0, -300);
  const closer = await tab.settled((state) => length(state.flame_ns) < length(zoomed.flame_ns));
  assert.ok(Math.abs(middle(closer.flame_ns) - middle(zoomed.flame_ns)) <= length(zoomed.flame_ns) / 100 + 2);
  await tab.page.mouse.dblclick(...await tab.at(closer.flame, 0.5, 0.01));
  await tab.settled((state) => state.flame_ns[0] === state.pinned_ns[0] && length(state.flame_ns) === state.pinned_ns[1]);

  // Sites are searched for, and jumped to, however quickly that is typed.
  await tab.page.keyboard.type('/site 7');
  await tab.page.keyboard.press('Enter');
  await tab.settled((state) => state.marked_site === 'site 7' && state.selected_site === 'site 7');
  await tab.page.keyboard.press('Escape');
  await tab.settled((state) => !state.is_searching);
  await tab.page.keyboard.type('t?');
  await tab.settled((state) => state.tab === 'statistics' && state.shows_help);
});

testServed('A capture is followed while it grows, and after the server was away', () => {
  const bytes = fs.readFileSync(model);
  fs.mkdirSync(path.join(folder, 'growing'));
  fs.writeFileSync(path.join(folder, 'growing', 'part.kymo'), bytes.subarray(0, Math.floor(bytes.length / 3)));
  return [path.join(folder, 'growing')];
}, async (tab, server) => {
  const bytes = fs.readFileSync(model);
  const file = path.join(folder, 'growing', 'part.kymo');
  const first = await tab.settled();
  assert.strictEqual(first.arrival, 'cut_off');
  fs.appendFileSync(file, bytes.subarray(Math.floor(bytes.length / 3), Math.floor(bytes.length / 2)));
  const second = await tab.settled((state) => state.length_ns > first.length_ns);
  assert.ok(second.blocks > first.blocks);
  // What was appended while there was no server is seen as soon as there is one again.
  await server.stop();
  await tab.page.waitForFunction(() => /no connection/.test(document.getElementById('status').textContent));
  await tab.settled((state) => state.arrival === 'unreachable');
  fs.appendFileSync(file, bytes.subarray(Math.floor(bytes.length / 2)));
  const again = await serve(path.join(folder, 'growing'), '--page', pageFolder, '--listen', `127.0.0.1:${server.port}`);
  try {
    const end = await tab.settled((state) => state.arrival === 'complete');
    assert.ok(end.length_ns > second.length_ns);
    assert.strictEqual(end.shown[0].size, bytes.length);
    await tab.page.waitForFunction(() => document.getElementById('status').textContent === '');
    // A program that starts to record in the directory is offered, and can be seen beside the others.
    const recording = spawn(recordedProgram, ['scopes', '200000'], {
      env: { ...process.env, KYMO_RECORD: path.join(folder, 'growing', 'program.kymo'), KYMO_SAMPLE: '0,0,0' },
      stdio: 'ignore',
    });
    await new Promise((resolve) => recording.on('exit', resolve));
    const choice = tab.page.locator('#captures');
    await choice.selectOption({ label: 'program.kymo' });
    const program = await tab.settled((state) => state.shown[0]?.name === 'program.kymo' && state.arrival === 'complete');
    assert.strictEqual(program.sites, 1);
    await choice.selectOption({ label: 'all, on one axis' });
    await tab.settled((state) => state.captures === 2 && state.sites === 13);
  } finally {
    await again.stop();
  }
});

test('A dropped file is shown without any server of captures, and its name is no markup', async () => {
  const types = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css', '.wasm': 'application/wasm' };
  const share = http.createServer((request, response) => {
    const file = path.join(pageFolder, request.url === '/' ? 'index.html' : path.basename(request.url));
    const isThere = fs.existsSync(file);
    response.writeHead(isThere ? 200 : 404, { 'Content-Type': types[path.extname(file)] || 'text/plain' });
    response.end(isThere ? fs.readFileSync(file) : 'nothing');
  });
  await new Promise((resolve) => share.listen(0, '127.0.0.1', resolve));
  try {
    const tab = await Tab.open(browser, `http://127.0.0.1:${share.address().port}/`);
    await tab.untilMessage(/Drop a capture/);
    const drop = (name, bytes) => tab.page.evaluate(([fileName, base64]) => {
      const files = new DataTransfer();
      files.items.add(new File([Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0))], fileName));
      document.body.dispatchEvent(new DragEvent('drop', { dataTransfer: files, bubbles: true, cancelable: true }));
    }, [name, bytes.toString('base64')]);
    const bytes = fs.readFileSync(model);
    const name = '<img src=x onerror=alert(1)>.kymo';
    await drop(name, bytes);
    const shown = await tab.settled();
    assert.strictEqual(shown.sites, 12);
    assert.strictEqual(await tab.page.locator('#name').textContent(), name);
    assert.strictEqual(await tab.page.locator('img').count(), 0);

    // Whatever is in a file, the page says so and goes on.
    await drop('noise.kymo', Buffer.alloc(5000, 'noise'));
    await tab.untilMessage(/noise\.kymo/);
    await drop('empty.kymo', Buffer.alloc(0));
    await tab.untilMessage(/empty\.kymo/);
    for (let seed = 1; seed <= 12; ++seed) {
      const damaged = Buffer.from(bytes);
      let random = seed;
      for (let i = 0; i < 4 ** (seed % 5); ++i) {
        random = (random * 1103515245 + 12345) % 2147483648;
        damaged[100 + (random % (damaged.length - 100))] ^= 1 + (random >> 16) % 255;
      }
      await drop(`damaged ${seed}.kymo`, damaged);
      await tab.page.waitForFunction((text) => document.title.startsWith(text)
        || document.getElementById('message').textContent.includes(text), `damaged ${seed}.kymo`);
    }
    await drop('edges.kymo', fs.readFileSync(path.join(folder, 'edges.kymo')));
    await tab.settled((state) => state.shown[0]?.name === 'edges.kymo' && state.sites === 3);
    // The other way in.
    await tab.page.locator('#files').setInputFiles(model);
    await tab.settled((state) => state.shown[0]?.name === 'model.kymo' && state.sites === 12);
    assert.deepStrictEqual(tab.complaints, []);
    await tab.close();
  } finally {
    share.close();
    share.closeAllConnections();
  }
});

testServed('The token lets in, and nobody else gets anything', () => [model, '--token'], async (tab, server) => {
  await tab.settled();
  assert.ok(server.url.includes('#token='));
  assert.ok(!(await tab.page.evaluate(() => location.href)).includes('token'), 'the token stays in the address bar');
  const [address] = server.url.split('#');
  const without = await Tab.open(browser, address);
  await without.untilMessage(/asks for a token/);
  await without.close();
  const wrong = await Tab.open(browser, `${address}#token=${'0'.repeat(32)}`);
  await wrong.untilMessage(/does not take this token/);
  await wrong.page.reload();
  await wrong.untilMessage(/asks for a token/); // one that was refused is not kept
  await wrong.close();
  // A tab keeps its token, and nobody else can read it.
  await tab.page.reload();
  await tab.settled();
  assert.deepStrictEqual(await tab.page.evaluate(() => [localStorage.length, document.cookie]), [0, '']);
});

testServed('A link opens at its range, and the address follows the view', () => {
  fs.mkdirSync(path.join(folder, 'two'));
  fs.copyFileSync(model, path.join(folder, 'two', 'a.kymo'));
  fs.copyFileSync(path.join(folder, 'edges.kymo'), path.join(folder, 'two', 'b.kymo'));
  return [path.join(folder, 'two'), '--token'];
}, async (tab, server) => {
  const whole = await tab.settled();
  const [from, to] = [0.25, 0.5].map((part) => Math.round(whole.length_ns * part));
  const link = `${server.url}&capture=a.kymo&t=${from}ns..${to / 1e6}ms`;
  const second = await Tab.open(browser, link);
  const shown = await second.settled((state) => state.shown[0].name === 'a.kymo');
  for (const range of [shown.overview_ns, shown.flame_ns]) {
    assert.deepStrictEqual(range, [from, to]);
  }
  // The address says the same without the token, also after a reload.
  const address = new RegExp(`#capture=a\\.kymo&t=${from / 1e9}s\\.\\.${to / 1e9}s$`);
  await second.page.waitForURL(address);
  await second.page.reload();
  assert.deepStrictEqual((await second.settled()).flame_ns, [from, to]);
  // What is zoomed to is what a copied address shows.
  await second.page.mouse.move(...await second.at(shown.flame, 0.5, 0.5));
  await second.page.mouse.wheel(0, -300);
  await second.settled((state) => length(state.flame_ns) < to - from);
  await second.page.waitForURL((url) => !address.test(url.href) && url.hash.includes('t='));
  // Another link in the same tab, and one that is no range.
  const loaded = second.page.waitForEvent('load');
  await second.page.evaluate(() => {
    location.hash = 'capture=b.kymo&t=soon';
  });
  await loaded;
  const other = await second.settled((state) => state.shown[0].name === 'b.kymo');
  assert.deepStrictEqual(other.flame_ns, [0, other.length_ns]);
  assert.deepStrictEqual(second.complaints, []);
  await second.close();
});

testServed('Two captures are compared, also by a link', () => {
  fs.mkdirSync(path.join(folder, 'compared'));
  for (const name of ['before.kymo', 'after.kymo']) {
    fs.copyFileSync(model, path.join(folder, 'compared', name));
  }
  return [path.join(folder, 'compared')];
}, async (tab, server) => {
  await tab.settled();
  await tab.page.locator('#captures').selectOption({ label: 'after.kymo' });
  await tab.settled((state) => state.shown[0].name === 'after.kymo');
  await tab.page.locator('#base').selectOption({ label: 'compared with before.kymo' });
  const whole = await tab.settled((state) => state.base && state.verdicts !== null);
  assert.deepStrictEqual(whole.shown.map(({ name }) => name), ['after.kymo', 'before.kymo']);
  assert.ok(whole.verdicts >= 12, 'its sites at least');
  assert.ok(whole.base.flame[3] <= whole.flame[1], 'the base stands above it');
  assert.deepStrictEqual(whole.base.flame_ns, whole.flame_ns);
  await tab.page.mouse.move(...await tab.at(whole.flame, 0.3, 0.5));
  await tab.page.mouse.wheel(0, -300);
  const closer = await tab.settled((state) => length(state.flame_ns) < whole.length_ns
    && length(state.base.flame_ns) === length(state.flame_ns));
  assert.deepStrictEqual(closer.base.flame_ns, closer.flame_ns);
  await tab.page.waitForURL(/#capture=after\.kymo&base=before\.kymo&t=/);
  const second = await Tab.open(browser, await tab.page.evaluate(() => location.href));
  const linked = await second.settled((state) => state.base);
  assert.deepStrictEqual(linked.flame_ns, closer.flame_ns);
  assert.deepStrictEqual(second.complaints, []);
  await second.close();
  await tab.page.setViewportSize({ width: 390, height: 700 });
  const open = await tab.page.locator('#open').boundingBox();
  assert.ok(open.x >= 0 && open.x + open.width <= 390, `the button is at ${open.x} to ${open.x + open.width}`);
  await tab.page.locator('#base').selectOption({ label: 'not compared' });
  const alone = await tab.settled((state) => !state.base);
  assert.deepStrictEqual(alone.shown.map(({ name }) => name), ['after.kymo']);
});

/// The share of pixels in areas of two pictures of one size that differ clearly, also from all pixels nearby, so that
/// antialiasing does not count.
function differingShare(page, areas, pictures) {
  return page.evaluate(async ([places, ...sources]) => {
    const [first, second] = await Promise.all(sources.map(async (source) => {
      const image = new Image();
      image.src = `data:image/png;base64,${source}`;
      await image.decode();
      const canvas = new OffscreenCanvas(image.width, image.height);
      const context = canvas.getContext('2d');
      context.drawImage(image, 0, 0);
      return context.getImageData(0, 0, image.width, image.height);
    }));
    if (first.width !== second.width || first.height !== second.height) {
      return 1;
    }
    const { width, height } = first;
    const nearby = [0, 1, -1, width, -width];
    const differs = (at, other) => [0, 1, 2].some((channel) => Math.abs(first.data[4 * at + channel] - second.data[4 * other + channel]) > 24);
    let count = 0;
    let all = 0;
    for (const [left, top, right, bottom] of places) {
      for (let y = Math.ceil(top); y < Math.min(bottom, height - 1); ++y) {
        for (let x = Math.ceil(left); x < Math.min(right, width); ++x, ++all) {
          count += nearby.every((step) => differs(y * width + x, y * width + x + step)) ? 1 : 0;
        }
      }
    }
    return count / all;
  }, [areas, ...pictures.map((picture) => picture.toString('base64'))]);
}

testServed('The page and `kymo view --screenshot` draw the same picture', () => [model], async (tab) => {
  const blank = await browser.newPage(); // whose content policy allows images
  for (const theme of ['light', 'dark']) {
    await tab.page.emulateMedia({ colorScheme: theme });
    const { bars, rows, flame } = await tab.settled(); // the fonts of the names beside them differ
    const { width, height } = await tab.page.locator('#panel').boundingBox();
    const file = path.join(folder, `view-${theme}.png`);
    execFileSync(process.argv[2], ['view', '--screenshot', file, '--size', `${width}x${height}`, '--theme', theme, model]);
    const view = fs.readFileSync(file);
    const share = await differingShare(blank, [bars, rows, flame], [await tab.page.locator('#panel').screenshot(), view]);
    assert.ok(share < 0.01, `${theme}: ${(share * 100).toFixed(2)} % of the pixels differ`);
    // As a control: another stretch of the same capture is another picture.
    const other = path.join(folder, `other-${theme}.png`);
    execFileSync(process.argv[2], ['view', '--screenshot', other, '--size', `${width}x${height}`, '--theme', theme, '--time', '0ms..20ms', model]);
    const control = await differingShare(blank, [bars, rows, flame], [fs.readFileSync(other), view]);
    assert.ok(control > 0.05, `the measure finds ${(control * 100).toFixed(2)} % between different pictures`);
  }
  await blank.close();
});

testServed('A page at rest draws nothing', () => [model], async (tab) => {
  let last = await tab.settled();
  await tab.until('it never rests', async () => {
    await tab.page.waitForTimeout(300);
    const before = last.drawn;
    last = await tab.state();
    return last.drawn === before;
  });
  await tab.page.mouse.move(...await tab.at(last.flame, 0.3, 0.3));
  await tab.settled((state) => state.drawn > last.drawn);
});

testServed('The page is sent compressed, and once', () => [model], async (tab) => {
  await tab.settled();
  const sizes = () => tab.page.evaluate(() => performance.getEntriesByType('resource')
    .filter(({ name }) => name.endsWith('.js')).map(({ name, transferSize }) => [name.replace(/.*\//, ''), transferSize]));
  const first = Object.fromEntries(await sizes());
  assert.ok(first['page.js'] > 300, JSON.stringify(first));
  await tab.page.reload();
  await tab.settled();
  const again = Object.fromEntries(await sizes());
  assert.ok(again['page.js'] <= 300, `the browser read it again: ${JSON.stringify(again)}`);
});

testServed('On a telephone nothing lies beside the screen', () => [model], async (tab) => {
  await tab.page.setViewportSize({ width: 390, height: 700 });
  const shown = await tab.settled((state) => state.flame[2] <= 390);
  assert.ok(shown.flame[2] - shown.flame[0] > 230, 'the chart has most of the width');
  const overhang = await tab.page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  assert.strictEqual(overhang, 0);
  await tab.click(shown.bars, 0.5, 0.9);
  await tab.settled((state) => state.pinned_ns !== null);
  for (const name of ['#open', '#name']) {
    const box = await tab.page.locator(name).boundingBox();
    assert.ok(box.x >= 0 && box.x + box.width <= 390, `${name} is at ${box.x} to ${box.x + box.width}`);
  }
});

testServed('Another name for this machine gets no page', () => [model], async (tab, server) => {
  await tab.settled();
  const stranger = await Tab.open(browser, 'about:blank');
  const answer = await stranger.page.goto(`http://evil.example:${server.port}/`);
  assert.ok(answer.status() >= 400, `the server answers ${answer.status()}`);
  assert.strictEqual(await stranger.page.locator('canvas').count(), 0);
  await stranger.close();
});

test('The page is small', () => {
  const sizes = fs.readdirSync(pageFolder).map((name) => zlib.gzipSync(fs.readFileSync(path.join(pageFolder, name))).length);
  const total = sizes.reduce((sum, size) => sum + size, 0);
  assert.ok(total < 1.5e6, `${total} bytes compressed`);
});
