// Shows the panel's page in a notebook. The kernel sends the page's files and the captures, in pieces that are asked for here:
// nothing comes from elsewhere, no port is open, and a kernel on another machine is as good.
//
// The page runs in a frame without an origin, without access to the notebook and without a network.

const patience = 1000; // milliseconds from when the frame is loaded, which has run its script then

/// Runs in the frame, where `parent` is the notebook. Makes modules of the page's files, which import each other: as data
/// URLs, since workers of a page without an origin can be and import nothing else.
function runPage() {
  const tell = (type, more = {}) => parent.postMessage({ type, ...more }, '*');
  async function start({ files, stretch }) {
    const textOf = (name) => new TextDecoder().decode(files.get(name));
    const urlOf = (name) => {
      const text = textOf(name).replace(/^(import .* from )'\.\/([\w.]+)';$/gm, (_, what, other) => `${what}'${urlOf(other)}';`);
      return `data:text/javascript;charset=utf-8,${encodeURIComponent(text).replaceAll("'", '%27')}`;
    };
    const style = document.createElement('style');
    style.textContent = textOf('kymo.css');
    document.head.append(style);
    const page = new DOMParser().parseFromString(textOf('index.html'), 'text/html');
    document.body.replaceChildren(...page.body.children);
    window.kymoEmbedded = { worker: urlOf('worker.js'), wasm: files.get('kymo_web.wasm'), stretch };
    await import(urlOf('page.js'));
  }
  addEventListener('message', async ({ source, data }) => {
    if (source !== parent) {
      return;
    }
    try {
      await start(data);
      window.kymoPage?.open(data.captures.map(({ name, bytes }) => new File(bytes, name)));
    } catch (error) {
      tell('failed', { text: String(error.message || error) });
    }
  });
  tell('ready');
}

function makeFrame(height) {
  const nonce = crypto.getRandomValues(new Uint32Array(4)).join('-');
  const policy = `default-src 'none'; script-src 'nonce-${nonce}' data: 'wasm-unsafe-eval'; style-src 'unsafe-inline'; `
    + "worker-src data:; base-uri 'none'; form-action 'none'";
  const frame = document.createElement('iframe');
  frame.sandbox = 'allow-scripts';
  frame.title = 'kymo';
  frame.style.cssText = `display: block; width: 100%; height: ${height}px; border: 1px solid #8888;`;
  frame.srcdoc = `<!doctype html><html lang="en"><head><meta charset="utf-8">
    <meta http-equiv="Content-Security-Policy" content="${policy}">
    <script nonce="${nonce}">(${runPage})()</script></head><body></body></html>`;
  return frame;
}

/// Asks the kernel, which answers in any order: ask(question) gives {content, bytes}.
function makeAsk(model, signal) {
  const waiting = new Map();
  // Other views of the model hear the answers too.
  const place = crypto.getRandomValues(new Uint32Array(2)).join('-');
  let asked = 0;
  const take = (content, buffers) => {
    const { resolve, reject } = waiting.get(content.id) ?? {};
    waiting.delete(content.id);
    if (content.error !== undefined) {
      reject?.(new Error(content.error));
    } else {
      resolve?.({ content, bytes: buffers[0] });
    }
  };
  model.on('msg:custom', take);
  signal.addEventListener('abort', () => model.off('msg:custom', take));
  return (question) => new Promise((resolve, reject) => {
    const id = `${place} ${++asked}`;
    waiting.set(id, { resolve, reject });
    model.send({ ...question, id });
  });
}

/// A file of the kernel's list in pieces, each a DataView.
async function readFile(ask, number, size, onProgress) {
  const pieces = [];
  for (let offset = 0; offset < size;) {
    const { bytes } = await ask({ number, offset });
    if (bytes.byteLength === 0) {
      throw new Error('the file has become shorter');
    }
    pieces.push(bytes);
    offset += bytes.byteLength;
    onProgress(bytes.byteLength);
  }
  return pieces;
}

async function show(model, frame, status, signal) {
  const ask = makeAsk(model, signal);
  const answers = new Promise((resolve, reject) => {
    frame.addEventListener('load', () => {
      setTimeout(() => reject(new Error('this notebook lets no page run in it')), patience);
    });
    addEventListener('message', ({ source, data }) => {
      if (source !== frame.contentWindow) {
        return;
      }
      if (data?.type === 'ready') {
        resolve();
      } else if (data?.type === 'failed') {
        status.textContent = `${data.text}. ${model.get('instead')}`;
      }
    }, { signal });
  });
  const { content: { page, captures, stretch } } = await ask({});
  const whole = [...page, ...captures].reduce((sum, { size }) => sum + size, 0);
  let read = 0;
  const onProgress = (bytes) => {
    read += bytes;
    status.textContent = `${(read / 1e6).toFixed(1)} of ${(whole / 1e6).toFixed(1)} MB`;
  };
  const files = new Map();
  for (const [i, { name, size }] of page.entries()) {
    files.set(name, await new Blob(await readFile(ask, i, size, onProgress)).arrayBuffer());
  }
  const shown = [];
  for (const [i, { name, size }] of captures.entries()) {
    shown.push({ name, bytes: await readFile(ask, page.length + i, size, onProgress) });
  }
  await answers;
  status.textContent = '';
  frame.contentWindow.postMessage({ files, captures: shown, stretch }, '*');
}

export default {
  render({ model, el }) {
    const frame = makeFrame(model.get('height'));
    const status = document.createElement('div');
    status.setAttribute('role', 'status');
    status.textContent = 'Waiting for the kernel: it answers once it has run what it is running.';
    el.append(status, frame);
    const over = new AbortController();
    show(model, frame, status, over.signal).catch((error) => {
      status.textContent = `The capture cannot be shown here: ${error.message}. ${model.get('instead')}`;
      frame.remove();
    });
    return () => over.abort();
  },
};
