// The worker that draws: runs the panel (WebAssembly) on the page's canvas, hands it what the user does, opens captures from
// the server or from files, and follows those that grow. It draws only when something changes.
import makeKymo from './kymo_web.js';
import { Browser } from './browser.js';
import { Captures } from './captures.js';

const cursors = ['default', 'text', 'move', 'ns-resize', 'ew-resize', 'nesw-resize', 'nwse-resize', 'pointer', 'not-allowed'];
const caretBlink = 300; // milliseconds
const framesAfterInput = 3; // the panel answers to what happened in the frame after it, and shows it in the next

const tell = (type, more = {}) => postMessage({ type, ...more });

let kymo = null; // the panel's module
let canvas = null;
let captures = null;
let framesLeft = 0;
let isAsked = false; // for the next frame
let blinkTimer = 0;
let workTimer = 0;
let lastCursor = '';
let lastLink = null;

/// Has this many frames drawn, at least.
function wake(frames = framesAfterInput) {
  framesLeft = Math.max(framesLeft, frames);
  if (!isAsked && kymo !== null) {
    isAsked = true;
    requestAnimationFrame(draw);
  }
}

function draw() {
  isAsked = false;
  guard(() => {
    if (!kymo._page_draw()) {
      captures.fail(kymo.UTF8ToString(kymo._page_message()));
      return;
    }
    showCursor();
    const wishes = kymo._page_wishes();
    framesLeft = wishes & 1 ? framesAfterInput : framesLeft - 1;
    clearTimeout(blinkTimer);
    if (wishes & 1) {
      work();
    }
    if (framesLeft > 0) {
      wake(framesLeft);
      return;
    }
    showLink();
    if (wishes & 2) {
      blinkTimer = setTimeout(wake, caretBlink);
    }
  });
}

/// Decodes between two pictures, for as long as there is something to decode and the next picture does not come.
function work() {
  clearTimeout(workTimer);
  workTimer = setTimeout(() => guard(() => {
    if (kymo !== null && kymo._page_work() && kymo._page_wishes() & 1) {
      work();
    }
  }), 0);
}

function showCursor() {
  const cursor = cursors[kymo._page_cursor()] ?? 'none';
  if (cursor !== lastCursor) {
    lastCursor = cursor;
    tell('cursor', { cursor });
  }
}

/// The address of what is shown, once it rests.
function showLink() {
  const text = captures.link();
  if (text !== lastLink) {
    lastLink = text;
    tell('link', { text });
  }
}

/// Runs what calls the panel; where that breaks off there is no panel any more.
function guard(action) {
  try {
    return action();
  } catch (error) {
    kymo = null;
    tell('message', { text: `The panel has stopped; load the page again. ${error.message || error}` });
    throw error;
  }
}

const takes = {
  async start({ canvas: given, width, height, ratio, isDark, wasm, token, wanted }) {
    canvas = given;
    const browser = new Browser({ canvas, copy: (text) => tell('copy', { text }) });
    const module = await makeKymo({ kymo: browser, ...(wasm && { wasmBinary: wasm, locateFile: (name) => name }) });
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    if (!module._page_start()) {
      tell('message', { text: `The panel cannot be drawn: ${module.UTF8ToString(module._page_message())}.` });
      return;
    }
    kymo = module;
    kymo._page_set_theme(isDark);
    kymo._page_resize(width, height, ratio);
    captures = new Captures({ kymo, known: browser.captures, folder: wasm ? null : self.location.href, token, wanted, tell, wake, guard });
    await captures.begin();
  },
  resize({ width, height, ratio }) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    kymo._page_resize(width, height, ratio);
  },
  theme: ({ isDark }) => kymo._page_set_theme(isDark),
  input: ({ kind, x, y }) => kymo._page_input(kind, x, y),
  open: ({ files }) => captures.openFiles(files),
  choose: ({ choice }) => captures.choose(choice),
  compare: ({ choice }) => captures.compareWith(choice),
  state({ number }) {
    const shown = JSON.parse(kymo.UTF8ToString(kymo._page_state()));
    tell('state', { number, state: shown && { ...shown, ...captures.state() } });
  },
};

// What comes before the panel is ready waits: sizes change while it loads.
let ready = null;
onmessage = async ({ data }) => {
  if (data.type === 'start') {
    ready = takes.start(data).catch((error) => {
      tell('message', { text: `The page's program could not be started: ${error.message || error}` });
    });
    return;
  }
  await ready;
  if (kymo !== null) {
    guard(() => takes[data.type](data));
    if (data.type !== 'state') {
      wake();
    }
  }
};
