// What tests of the page share: a browser, `kymo serve`, and the page's own account of what it shows.
'use strict';
const assert = require('node:assert');
const { spawn } = require('node:child_process');
const path = require('node:path');

const patience = 30000; // milliseconds

const [command, chromiumPath, npmFolder] = process.argv.slice(2, 5);
const { chromium } = require(path.resolve(npmFolder, 'playwright-core'));

/// `evil.example` is this machine, as somebody would make it who wants in.
function launch() {
  return chromium.launch({
    executablePath: chromiumPath,
    args: ['--no-sandbox', '--enable-unsafe-swiftshader', '--host-resolver-rules=MAP evil.example 127.0.0.1'],
  });
}

/// `kymo serve`: {url, stop()}.
function serve(...options) {
  const server = spawn(command, ['serve', ...options], { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = new Promise((resolve) => server.on('exit', resolve));
  const stop = () => {
    server.kill();
    return ended;
  };
  return new Promise((resolve, reject) => {
    let text = '';
    server.stdout.on('data', (data) => {
      text += data;
      if (text.includes('\n')) {
        resolve({ url: text.trim(), port: Number(text.match(/:(\d+)\//)[1]), stop });
      }
    });
    ended.then((code) => reject(new Error(`kymo serve ended with ${code}`)));
  });
}

/// One tab.
class Tab {
  static async open(browser, url) {
    const context = await browser.newContext({ viewport: { width: 1000, height: 700 } });
    const tab = new Tab();
    tab.context = context;
    tab.page = await context.newPage();
    tab.page.setDefaultTimeout(patience);
    tab.complaints = [];
    tab.page.on('pageerror', (error) => tab.complaints.push(`thrown: ${error.message}`));
    tab.page.on('dialog', (dialog) => tab.complaints.push(`dialog: ${dialog.message()}`));
    tab.page.on('console', (message) => {
      if (['error', 'warning'].includes(message.type()) && !/GPU stall|Failed to load resource/.test(message.text())) {
        tab.complaints.push(`${message.type()}: ${message.text()}`);
      }
    });
    await tab.page.goto(url);
    return tab;
  }

  close() {
    return this.context.close();
  }

  state() {
    return this.page.evaluate(() => window.kymoPage.state());
  }

  /// Waits until the page's state is as wanted, and returns it.
  async until(what, isWanted) {
    const deadline = Date.now() + patience;
    let state = null;
    while (Date.now() < deadline) {
      state = await this.state();
      if (state !== null && await isWanted(state)) {
        return state;
      }
      await this.page.waitForTimeout(20);
    }
    return assert.fail(`${what}: ${JSON.stringify(state)}, ${await this.message()}, ${this.complaints}`);
  }

  /// Until everything that is to be seen was read and drawn.
  settled(isWanted = () => true) {
    return this.until('not settled', (state) => state.drawn > 0 && !state.is_busy && state.bars[2] > 0 && isWanted(state));
  }

  /// What stands in place of the panel; '' where the panel is shown.
  message() {
    return this.page.evaluate(() => (document.getElementById('message').hidden ? ''
      : document.getElementById('message').textContent));
  }

  async untilMessage(pattern) {
    await this.page.waitForFunction(([source]) => {
      const message = document.getElementById('message');
      return !message.hidden && new RegExp(source).test(message.textContent);
    }, [pattern.source]);
  }

  /// A place on the screen: how far across and down an area of the panel.
  async at(area, across, down) {
    const box = await this.page.locator('#panel').boundingBox();
    const [left, top, right, bottom] = area;
    return [box.x + left + (right - left) * across, box.y + top + (bottom - top) * down];
  }

  async click(area, across, down) {
    await this.page.mouse.click(...await this.at(area, across, down));
  }

  async drag(area, from, to) {
    await this.page.mouse.move(...await this.at(area, from, 0.5));
    await this.page.mouse.down();
    await this.page.mouse.move(...await this.at(area, (from + to) / 2, 0.5));
    await this.page.mouse.move(...await this.at(area, to, 0.5));
    await this.page.mouse.up();
  }
}

module.exports = { launch, serve, Tab };
