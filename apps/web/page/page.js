// The page's own thread: hands what the user does to the worker that draws (worker.js), and shows what that says. Texts
// that come from captures and servers are set as text, never as markup.
import { forwardInput } from './input.js';

const byId = (id) => document.getElementById(id);
const canvas = byId('panel');
const message = byId('message');
const darkTheme = matchMedia('(prefers-color-scheme: dark)');

/// A text in place of the panel; none: the panel.
function showMessage(text) {
  message.textContent = text;
  message.hidden = text === '';
}

/// The token of `kymo serve` stands in the address's fragment, which browsers send nobody. It stays in this page's memory:
/// not in the address bar, nor in what is bookmarked or copied from it.
function takeToken() {
  const token = new URLSearchParams(location.hash.slice(1)).get('token') || '';
  if (location.hash !== '') {
    history.replaceState(null, '', location.pathname + location.search);
  }
  return token;
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
  const worker = new Worker('worker.js', { type: 'module' });
  worker.onerror = (event) => {
    event.preventDefault();
    showMessage(`The page's program could not be started or has stopped: ${event.message || 'its files are not all there'}`);
  };
  const offscreen = canvas.transferControlToOffscreen();
  const send = (type, more = {}, transfer = []) => worker.postMessage({ type, ...more }, transfer);
  send('start', { canvas: offscreen, ...sizeOf(canvas), isDark: darkTheme.matches, token: takeToken() }, [offscreen]);
  darkTheme.addEventListener('change', () => send('theme', { isDark: darkTheme.matches }));
  followSize(() => send('resize', sizeOf(canvas)));
  forwardInput(canvas, send);
  takeFiles((files) => send('open', { files }));
  listenTo(worker, send);
  askForTests(worker, send);
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
  list.addEventListener('change', () => {
    send('choose', { choice: list.value });
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
      canvas.focus();
    },
    captures: ({ choices, chosen }) => {
      list.replaceChildren(...choices.map(({ value, text }) => new Option(text, value, false, value === chosen)));
      list.hidden = choices.length < 2;
    },
    cursor: ({ cursor }) => {
      canvas.style.cursor = cursor;
    },
    copy: ({ text }) => navigator.clipboard?.writeText(text).catch(() => {}),
    state: () => {},
  };
  worker.addEventListener('message', ({ data }) => takes[data.type]?.(data));
}

/// `await kymoPage.state()` in the browser's console, or in a test, tells what the panel shows (apps/web/page_state.hpp).
function askForTests(worker, send) {
  let asked = 0;
  window.kymoPage = {
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
