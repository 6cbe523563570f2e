// What `kymo serve` says, over the protocol that docs/serving.md describes: the list of captures, their outlines, and
// what is appended to them. Runs in the worker.

const patience = { first: 500, most: 10000 }; // milliseconds before it is asked again

const wait = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

/// An answer that waiting does not change.
export class Refused extends Error {}

export class Server {
  /// `folder` is the page's own address: the server may stand behind another one, under any path. null: there is none.
  constructor(folder, token) {
    this.base = folder && new URL('api/', folder);
    this.token = token;
  }

  urlOf(id) {
    return new URL(`captures/${id}`, this.base).href;
  }

  async ask(path, more = {}) {
    const headers = this.token ? { Authorization: `Bearer ${this.token}` } : {};
    const answer = await fetch(new URL(path, this.base), { headers, cache: 'no-store', ...more });
    if (answer.status === 401 || answer.status === 403) {
      throw new Refused(this.token
        ? 'The server does not take this token: open the address that `kymo serve` printed last.'
        : 'The server asks for a token: open the address that `kymo serve` printed, with all that follows the #.');
    }
    if (!answer.ok) {
      throw new Error(`the server answers ${answer.status} ${answer.statusText}`);
    }
    return answer;
  }

  /// [{id, name, size, is_growing}]; null where no `kymo serve` is behind the page.
  async captures() {
    if (this.base === null) {
      return null;
    }
    let list;
    try {
      const answer = await this.ask('captures');
      list = (await answer.json()).captures;
    } catch (error) {
      if (error instanceof Refused) {
        throw error;
      }
      return null; // another web server, which knows nothing of captures
    }
    return Array.isArray(list) ? list.filter(isCapture) : null;
  }

  /// The outline of a capture from an offset on, as far as one answer reaches.
  async outline(id, from) {
    const answer = await this.ask(`captures/${id}/outline?from=${from}`);
    return new Uint8Array(await answer.arrayBuffer());
  }

  /// Calls onEvent(name, data) for what the server tells, for as long as the page is open. Whenever the stream begins anew
  /// after a break, onBegin(); while there is none, onBreak(text).
  async follow({ onEvent, onBegin, onBreak }) {
    for (let delay = patience.first; ; delay = Math.min(2 * delay, patience.most)) {
      try {
        const answer = await this.ask('events');
        delay = patience.first / 2;
        onBegin();
        await readEvents(answer.body, onEvent);
        onBreak('the server ended the connection');
      } catch (error) {
        onBreak(String(error.message || error));
        if (error instanceof Refused) {
          return;
        }
      }
      await wait(delay);
    }
  }
}

function isCapture({ id, name, size }) {
  return Number.isSafeInteger(id) && id >= 0 && id < 2 ** 30 && typeof name === 'string' && Number.isSafeInteger(size);
}

/// Takes server-sent events apart. fetch() rather than EventSource, which cannot send the token.
async function readEvents(body, onEvent) {
  const longest = 65536;
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  for (;;) {
    const { value, done } = await reader.read();
    if (done) {
      return;
    }
    text += value.replace(/\r/g, '');
    const events = text.split('\n\n');
    text = events.pop();
    if (text.length > longest) {
      throw new Error('the server sends what is no event');
    }
    for (const event of events) {
      const fields = event.split('\n').map((line) => line.match(/^(event|data): ?(.*)$/)).filter(Boolean);
      const name = fields.find(([, key]) => key === 'event')?.[2];
      const data = fields.filter(([, key]) => key === 'data').map((field) => field[2]).join('\n');
      if (name && data) {
        onEvent(name, JSON.parse(data));
      }
    }
  }
}
