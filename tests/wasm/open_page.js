// Opens the example page in Chromium, records, saves, and tells what the browser saw:
//
//     node open_page.js NPM_FOLDER CHROMIUM ADDRESS CAPTURE
//
// NPM_FOLDER holds playwright-core. The capture that the page offers is saved as CAPTURE. Prints JSON.
const path = require('path');

const deadline = 40000;

// How many colours are in the middle of the page, where the panel is, and what share of it is as bright as text.
async function look(page) {
  const picture = await page.locator('#canvas').screenshot();
  return page.evaluate(async (base64) => {
    const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
    const bitmap = await createImageBitmap(new Blob([bytes], { type: 'image/png' }));
    const context = new OffscreenCanvas(bitmap.width, bitmap.height).getContext('2d');
    context.drawImage(bitmap, 0, 0);
    const { data } = context.getImageData(60, 80, bitmap.width - 120, bitmap.height - 160);
    const colours = new Set();
    let bright = 0;
    for (let i = 0; i < data.length; i += 4) {
      colours.add((data[i] << 16) | (data[i + 1] << 8) | data[i + 2]);
      bright += Math.min(data[i], data[i + 1], data[i + 2]) > 150 ? 1 : 0;
    }
    return { colours: colours.size, bright: (bright * 4) / data.length };
  }, picture.toString('base64'));
}

async function main([npmFolder, chromium, address, capture]) {
  const { chromium: browsers } = require(path.resolve(npmFolder, 'playwright-core'));
  const browser = await browsers.launch({
    executablePath: chromium,
    headless: true,
    // As root there is no sandbox, in containers little shared memory; WebGL is drawn without a GPU.
    // Most of the code runs for a few frames only: it is not worth optimising.
    args: ['--no-sandbox', '--disable-dev-shm-usage', '--enable-unsafe-swiftshader', '--js-flags=--liftoff-only'],
    timeout: deadline,
  });
  try {
    const page = await browser.newPage({ viewport: { width: 1120, height: 780 } });
    page.setDefaultTimeout(deadline);
    const problems = [];
    page.on('pageerror', (error) => problems.push(String(error)));
    // What its drawing costs without a GPU is no problem of the page's.
    page.on('console', (line) => {
      if (['error', 'warning'].includes(line.type()) && !line.text().includes('GL Driver Message (OpenGL, Performance')) {
        problems.push(line.text());
      }
    });
    await page.goto(address);
    await page.locator('#record:enabled').click();
    const begin = await page.evaluate(() => performance.now());
    await page.waitForFunction(() => performance.getEntriesByName('frame').length >= 10);
    const [download] = await Promise.all([page.waitForEvent('download'), page.locator('#record').click()]);
    const end = await page.evaluate(() => performance.now());
    await download.saveAs(capture);
    const measures = await page.evaluate(() =>
      performance
        .getEntriesByType('measure')
        .map(({ name, startTime, duration, detail }) => ({ name, start: startTime, duration, detail })),
    );
    const pausedBefore = await page.evaluate(() => Module._is_paused());
    await page.locator('#canvas').press('Space');
    await page.waitForFunction(() => Module._is_paused() === 1);
    const answer = { begin, end, measures, pausedBefore, problems, name: download.suggestedFilename() };
    process.stdout.write(JSON.stringify({ ...answer, ...(await look(page)) }) + '\n');
  } finally {
    await browser.close();
  }
}

main(process.argv.slice(2)).catch((error) => {
  process.stderr.write(`open_page: ${String(error.stack || error).slice(0, 4000)}\n`);
  process.exitCode = 1;
});
