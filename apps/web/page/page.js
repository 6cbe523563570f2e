// The page's own thread: hands what the user does to the worker that draws (worker.js), and shows what that says. Texts
// that come from captures and servers are set as text, never as markup.
import { forwardInput } from './input.js';
import { parseStretch } from './stretch.js';

const byId = (id) => document.getElementById(id);
const canvas = byId('panel');
const message = byId('message');
/// Where another page brings this one along, such as a notebook: {worker: its address, wasm: its bytes, stretch: what to show}.
const embedded = window.kymoEmbedded ?? null;
const darkTheme = matchMedia('(prefers-color-scheme: dark)');

/// A text in place of the panel; none: the panel.
function showMessage(text) {
  message.textContent = text;
  message.hidden = text === '';
}

const tokenKey = `kymo token ${location.pathname}`;

/// Storage may be forbidden; the page then asks for the token again after a reload.
function withStorage(action) {
  try {
    return action(sessionStorage);
  } catch {
    return null;
  }
}

/// What the address's fragment says, which browsers send nobody: the token of `kymo serve`, and what a link shows. The token
/// is kept for this tab, for reloads. It is neither left in the address bar nor in what is bookmarked or copied from it.
function takeFragment() {
  if (embedded !== null) {
    return { token: '', wanted: { capture: '', base: '', stretch: embedded.stretch, frame: 0 } };
  }
  const fragment = new URLSearchParams(location.hash.slice(1));
  const given = fragment.get('token');
  if (given) {
    withStorage((storage) => storage.setItem(tokenKey, given));
  }
  fragment.delete('token');
  setFragment(fragment.toString());
  const token = given || withStorage((storage) => storage.getItem(tokenKey)) || '';
  const name = (key) => fragment.get(key) ?? '';
  const frame = /^[1-9]\d{0,14}$/.test(name('frame')) ? Number(name('frame')) : 0;
  return { token, wanted: { capture: name('capture'), base: name('base'), stretch: parseStretch(name('t')), frame } };
}

function setFragment(text) {
  if (embedded === null) {
    history.replaceState(null, '', location.pathname + location.search + (text && `#${text}`));
  }
}

function sizeOf(element) {
  const { width, height } = element.getBoundingClientRect();
  return { width, height, ratio: devicePixelRatio };
}

function start() {
  if (typeof canvas.transferControlToOffscreen !== 'function' || typeof WebAssembly !== 'object') {
    showMessage('This browser cannot draw from a worker (OffscreenCanvas). Firefox 114, Chrome 95, Safari 17 and newer can.');
    return;
  }
  showMessage('Loading…');
  const worker = new Worker(embedded?.worker ?? 'worker.js', { type: 'module' });
  worker.onerror = (event) => {
    event.preventDefault();
    showMessage(`The page's program could not be started or has stopped: ${event.message || 'its files are not all there'}`);
  };
  const offscreen = canvas.transferControlToOffscreen();
  const send = (type, more = {}, transfer = []) => worker.postMessage({ type, ...more }, transfer);
  send('start', { canvas: offscreen, ...sizeOf(canvas), isDark: darkTheme.matches, wasm: embedded?.wasm, ...takeFragment() }, [offscreen]);
  addEventListener('hashchange', () => location.reload()); // another link, opened in this tab
  darkTheme.addEventListener('change', () => send('theme', { isDark: darkTheme.matches }));
  followSize(() => send('resize', sizeOf(canvas)));
  forwardInput(canvas, send);
  takeFiles((files) => send('open', { files }));
  listenTo(worker, send);
  offerCalls(worker, send);
}

/// Calls where the canvas or the density of pixels changes.
function followSize(onChange) {
  new ResizeObserver(onChange).observe(canvas);
  const followRatio = () => matchMedia(`(resolution: ${devicePixelRatio}dppx)`).addEventListener('change', () => {
    onChange();
    followRatio();
  }, { once: true });
  followRatio();
}

/// Files come from the button and by being dropped anywhere on the page.
function takeFiles(open) {
  const main = document.querySelector('main');
  byId('open').addEventListener('click', () => byId('files').click());
  byId('files').addEventListener('change', (event) => {
    open([...event.target.files]);
    event.target.value = '';
  });
  addEventListener('dragover', (event) => {
    event.preventDefault();
    main.classList.add('dropping');
  });
  addEventListener('dragleave', (event) => {
    if (event.relatedTarget === null) {
      main.classList.remove('dropping');
    }
  });
  addEventListener('drop', (event) => {
    event.preventDefault();
    main.classList.remove('dropping');
    if (event.dataTransfer.files.length > 0) {
      open([...event.dataTransfer.files]);
    }
  });
}

/// What the worker tells: texts, the list of captures, the pointer's shape.
function listenTo(worker, send) {
  const list = byId('captures');
  const bases = byId('base');
  let linkTimer = 0;
  list.addEventListener('change', () => {
    send('choose', { choice: list.value });
    canvas.focus();
  });
  bases.addEventListener('change', () => {
    send('compare', { choice: bases.value });
    canvas.focus();
  });
  const takes = {
    message: ({ text }) => showMessage(text),
    status: ({ text }) => {
      byId('status').textContent = text;
    },
    shown: ({ name }) => {
      showMessage('');
      byId('name').textContent = list.hidden ? name : '';
      document.title = name === '' ? 'kymo' : `${name} - kymo`;
      if (embedded === null) {
        canvas.focus();
      }
    },
    captures: ({ choices, chosen, bases: others, base }) => {
      bases.replaceChildren(new Option('not compared', ''),
        ...others.map(({ value, text }) => new Option(`compared with ${text}`, value, false, value === base)));
      bases.hidden = others.length === 0;
      list.replaceChildren(...choices.map(({ value, text }) => new Option(text, value, false, value === chosen)));
      list.hidden = choices.length < 2;
    },
    cursor: ({ cursor }) => {
      canvas.style.cursor = cursor;
    },
    refused: () => withStorage((storage) => storage.removeItem(tokenKey)),
    link: ({ text }) => {
      clearTimeout(linkTimer); // browsers limit how often an address changes
      linkTimer = setTimeout(() => setFragment(text), 300);
    },
    copy: ({ text }) => navigator.clipboard?.writeText(text).catch(() => {}),
    state: () => {},
  };
  worker.addEventListener('message', ({ data }) => takes[data.type]?.(data));
}

/// `await kymoPage.state()` in the browser's console, or in a test, tells what the panel shows (apps/web/page_state.hpp).
/// `kymoPage.open(files)` shows captures, as dropping them does.
function offerCalls(worker, send) {
  let asked = 0;
  window.kymoPage = {
    open: (files) => send('open', { files }),
    state: () => new Promise((resolve) => {
      const number = ++asked;
      const take = ({ data }) => {
        if (data.type === 'state' && data.number === number) {
          worker.removeEventListener('message', take);
          resolve(data.state);
        }
      };
      worker.addEventListener('message', take);
      send('state', { number });
    }),
  };
}

start();
