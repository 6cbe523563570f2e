// Which captures there are, which of them are shown, and keeping up with those that grow.
import { Refused, Server } from './server.js';

const tornBlock = 2 ** 26; // bytes: so long a block may be in the making at the end of a capture that grows
const arrival = { recording: 1, cutOff: 2, unreachable: 3 }; // page_set_arrival()
const settling = [120, 1200]; // milliseconds after something came: when the panel takes in what it did not at once

export class Captures {
  /// kymo: the panel's module; known: the Map that it fetches bytes by; tell(type, more), wake() and guard(action) are
  /// worker.js's.
  /// folder: the page's address, or null where no server is behind it.
  /// wanted: {capture, base, stretch, frame}, what a link shows: names, [from, to] in nanoseconds or null, and a number or 0.
  constructor({ kymo, known, folder, token, wanted, tell, wake, guard }) {
    Object.assign(this, { kymo, known, wanted, tell, wake, guard });
    this.token = token;
    this.server = new Server(folder, token);
    this.list = new Map(); // number -> {id, name, size, isGrowing, end, isReading}; end: how far its outline is known
    this.shown = [];
    this.base = null; // the number of the capture that the shown one is compared with
    this.nextNumber = 2 ** 30; // of files; the server's captures keep their own
    this.timers = [];
  }

  /// Shows what the server has; without one, asks for files.
  async begin() {
    try {
      const found = await this.server.captures();
      if (found === null) {
        this.tell('message', { text: 'Drop a capture (a .kymo file) here, or open one with the button above.\nIt stays on this machine.' });
        return;
      }
      found.forEach((capture) => this.add(capture));
      this.server.follow({
        onEvent: (name, data) => this.takeEvent(name, data),
        onBegin: () => this.catchUp(),
        onBreak: (text) => this.lose(text),
      });
      if (found.length === 0) {
        this.tell('message', { text: 'There is no capture yet.' });
      } else {
        const first = found.find(({ name }) => name === this.wanted.capture) ?? found.find((capture) => capture.is_growing) ?? found[0];
        this.base = found.find(({ name, id }) => name === this.wanted.base && id !== first.id)?.id ?? null;
        await this.choose(String(first.id));
      }
    } catch (error) {
      if (error instanceof Refused) {
        this.tell('refused');
      }
      this.fail(error.message);
    }
  }

  add({ id, name, size, is_growing: isGrowing }) {
    if (this.list.has(id)) {
      return;
    }
    this.list.set(id, { id, name, size, isGrowing: Boolean(isGrowing), end: 0, reading: null });
    this.known.set(id, { url: this.server.urlOf(id), token: this.token });
    this.addToPanel(id, name);
    this.setGrowing(this.list.get(id), isGrowing);
  }

  setGrowing(capture, isGrowing) {
    capture.isGrowing = Boolean(isGrowing);
    this.kymo._page_set_arrival(capture.id, capture.isGrowing ? arrival.recording : arrival.cutOff);
  }

  /// The server does not answer.
  lose(text) {
    for (const { id, file } of this.list.values()) {
      if (!file) {
        this.kymo._page_set_arrival(id, arrival.unreachable);
      }
    }
    this.tell('status', { text: `no connection: ${text}` });
    this.settle();
  }

  openFiles(files) {
    const numbers = files.map((file) => {
      const number = this.nextNumber++;
      this.list.set(number, { id: number, name: file.name, size: file.size, isGrowing: false, file });
      this.known.set(number, { file });
      this.addToPanel(number, file.name);
      return number;
    });
    this.choose(numbers.join(' '));
  }

  /// Shows captures, by their numbers in one text, on one axis.
  async choose(choice) {
    const numbers = choice.split(' ').map(Number).filter((number) => this.list.has(number));
    if (numbers.length !== 1 || numbers[0] === this.base) {
      this.base = null;
    }
    const base = this.base;
    this.chosen = choice;
    this.listChoices();
    try {
      await Promise.all([...numbers, ...(base === null ? [] : [base])].map((number) => this.readOutline(number)));
      if (this.chosen !== choice || this.base !== base) {
        return; // something else was chosen meanwhile
      }
      this.show(numbers);
    } catch (error) {
      this.fail(error.message);
    }
  }

  /// Compares what is shown with a capture, by its number; '': shows it alone.
  compareWith(choice) {
    this.base = choice === '' ? null : Number(choice);
    return this.choose(this.chosen);
  }

  showAlone(numbers) {
    const place = this.kymo._malloc(4 * numbers.length);
    numbers.forEach((number, i) => this.kymo.setValue(place + 4 * i, number, 'i32'));
    const isOpen = this.guard(() => this.kymo._page_show(place, numbers.length));
    this.kymo._free(place);
    return isOpen;
  }

  show(numbers) {
    this.shown = this.base === null ? numbers : [...numbers, this.base];
    const isOpen = this.base === null
      ? this.showAlone(numbers)
      : this.guard(() => this.kymo._page_compare(this.base, numbers[0]));
    if (!isOpen) {
      this.fail(this.kymo.UTF8ToString(this.kymo._page_message()));
      return;
    }
    if (this.wanted.stretch !== null) {
      this.kymo._page_show_stretch(...this.wanted.stretch);
      this.wanted.stretch = null;
    }
    if (this.wanted.frame > 0) {
      this.kymo._page_pin_frame(this.wanted.frame);
      this.wanted.frame = 0;
    }
    this.tell('shown', { name: numbers.map((number) => this.list.get(number).name).join(', ') });
    this.settle();
  }

  /// Says what is wrong in place of the panel.
  fail(text) {
    this.shown = [];
    this.kymo._page_close();
    this.tell('message', { text });
  }

  listChoices() {
    const choices = [...this.list.values()].map(({ id, name }) => ({ value: String(id), text: name }));
    const all = [...this.list.keys()].join(' ');
    if (choices.length > 1) {
      choices.push({ value: all, text: 'all, on one axis' });
    }
    if (!choices.some(({ value }) => value === this.chosen)) {
      choices.push({ value: this.chosen, text: 'these' });
    }
    const bases = this.chosen.includes(' ') ? [] : choices.filter(({ value }) => value !== this.chosen && !value.includes(' '));
    this.tell('captures', { choices, chosen: this.chosen, bases, base: this.base === null ? '' : String(this.base) });
  }

  /// Reads the outline on from where it is known, until it stands still. One at a time for each capture.
  readOutline(number) {
    const capture = this.list.get(number);
    if (capture.file) {
      this.setSize(capture, capture.size);
      return Promise.resolve();
    }
    capture.reading ??= this.readOn(capture).finally(() => {
      capture.reading = null;
    });
    return capture.reading;
  }

  async readOn(capture) {
    for (;;) {
      const bytes = await this.server.outline(capture.id, capture.end);
      const place = this.kymo._malloc(bytes.length);
      if (place === 0) {
        throw new Error(`${capture.name}: there is not enough memory for its outline in the browser`);
      }
      this.kymo.HEAPU8.set(bytes, place);
      const end = this.guard(() => this.kymo._page_add_outline(capture.id, place, bytes.length));
      this.kymo._free(place);
      if (end < 0) {
        throw new Error(this.kymo.UTF8ToString(this.kymo._page_message()));
      }
      const stands = end <= capture.end;
      capture.end = Math.max(end, capture.end);
      if (stands) {
        break;
      }
    }
    // What is behind the outline's end is a block in the making, or damage, which the reader looks at itself.
    const isTorn = capture.isGrowing && capture.size - capture.end < tornBlock;
    this.setSize(capture, isTorn ? capture.end : Math.max(capture.size, capture.end));
  }

  /// How much of it there is to read: never less than before.
  setSize(capture, reached) {
    const size = Math.max(reached, capture.reach ?? 0);
    capture.reach = size;
    if (!this.kymo._page_set_size(capture.id, size)) {
      throw new Error(this.kymo.UTF8ToString(this.kymo._page_message()));
    }
  }

  takeEvent(name, data) {
    if (name === 'added') {
      this.catchUp();
    } else if (name === 'grown' && this.list.has(data.id)) {
      this.grow(data);
    }
  }

  async grow({ id, size, is_growing: isGrowing }) {
    const capture = this.list.get(id);
    capture.size = size;
    this.setGrowing(capture, isGrowing);
    if (!this.shown.includes(id)) {
      return;
    }
    try {
      if (capture.reading !== null) {
        await capture.reading; // which may have passed the new end, or not
      }
      if (capture.end < capture.size) {
        await this.readOutline(id);
        this.tell('status', { text: '' });
      }
      this.settle();
    } catch (error) {
      this.tell('status', { text: `${capture.name}: ${error.message}` });
    }
  }

  /// Takes over what the server has now: at first, after a break, and when something was added.
  async catchUp() {
    try {
      const found = await this.server.captures();
      const isFirst = this.list.size === 0;
      this.tell('status', { text: '' });
      for (const capture of found ?? []) {
        if (this.list.has(capture.id)) {
          this.grow(capture);
        } else {
          this.add(capture);
        }
      }
      if (isFirst && this.list.size > 0) {
        await this.choose(String([...this.list.keys()][0]));
      } else if (this.list.size > 1) {
        this.listChoices();
      }
    } catch (error) {
      this.tell('status', { text: error.message });
    }
  }

  settle() {
    this.timers.forEach(clearTimeout);
    this.timers = settling.map((delay) => setTimeout(this.wake, delay));
    this.wake();
  }

  addToPanel(number, name) {
    const size = this.kymo.lengthBytesUTF8(name) + 1;
    const place = this.kymo._malloc(size);
    this.kymo.stringToUTF8(name, place, size);
    this.kymo._page_add_capture(number, place);
    this.kymo._free(place);
  }

  /// The fragment of an address that shows what is shown now; '' for what the page shows by itself, for several captures, and
  /// for files, which no address reaches.
  link() {
    const isOne = this.shown.length === (this.base === null ? 1 : 2);
    if (!isOne || this.shown.some((number) => this.list.get(number).file)) {
      return '';
    }
    const base = this.base === null ? '' : `base=${encodeURIComponent(this.list.get(this.base).name)}`;
    const name = this.list.size > 1 ? `capture=${encodeURIComponent(this.list.get(this.shown[0]).name)}` : '';
    const stretch = this.kymo.UTF8ToString(this.kymo._page_stretch());
    return [name, base, stretch && `t=${stretch}`].filter(Boolean).join('&');
  }

  /// For the page's state: the names of what is shown and how much of it was seen.
  state() {
    return { shown: this.shown.map((number) => {
      const { name, size, isGrowing } = this.list.get(number);
      return { name, size, is_growing: isGrowing };
    }) };
  }
}
