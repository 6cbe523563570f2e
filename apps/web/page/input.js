// Mouse, touch, wheel and keys of the canvas, as messages for the worker: {type: 'input', kind, x, y} as apps/web/input.hpp
// has them.

const kinds = { move: 0, button: 1, wheel: 2, key: 3, character: 4, focus: 5, modifiers: 6 };

/// In the order of apps/web/input.hpp's Key.
const keys = ['Tab', 'ArrowLeft', 'ArrowRight', 'ArrowUp', 'ArrowDown', 'PageUp', 'PageDown', 'Home', 'End', 'Insert', 'Delete',
  'Backspace', 'Enter', 'Escape', 'a', 'c', 'v', 'x', 'y', 'z'];

/// Of a mouse's buttons, in the order of the browser's numbers: left, middle, right.
const buttons = [0, 2, 1];

const doubleTap = 400; // milliseconds

export function forwardInput(canvas, send) {
  const put = (kind, x = 0, y = 0) => send('input', { kind: kinds[kind], x, y });
  const putModifiers = (event) => put('modifiers', (event.ctrlKey ? 1 : 0) + (event.shiftKey ? 2 : 0)
    + (event.altKey ? 4 : 0) + (event.metaKey ? 8 : 0));
  const putPlace = ({ offsetX, offsetY }) => put('move', Math.max(offsetX, 0), Math.max(offsetY, 0));
  forwardPointers(canvas, put, putPlace, putModifiers);
  forwardKeys(canvas, put, putModifiers);
}

function forwardPointers(canvas, put, putPlace, putModifiers) {
  const fingers = new Map(); // on the glass: their numbers and where they are
  let spread = 0;
  const distance = () => {
    const [first, second] = [...fingers.values()];
    return Math.hypot(first.x - second.x, first.y - second.y);
  };
  let lastTap = -Infinity;
  let isMouse = true; // what was used last: the browser tells of a finger's taps once more as of a mouse's
  const press = (event, clicks) => {
    putModifiers(event);
    putPlace(event);
    put('button', buttons[event.button] ?? 0, clicks > 1 ? 2 : 1);
  };
  canvas.addEventListener('pointerdown', (event) => {
    canvas.focus();
    canvas.setPointerCapture(event.pointerId);
    isMouse = event.pointerType !== 'touch';
    if (isMouse) {
      return;
    }
    fingers.set(event.pointerId, { x: event.offsetX, y: event.offsetY });
    if (fingers.size === 2) {
      put('button', 0, 0); // what one finger began is no drag
      spread = distance();
      return;
    }
    press(event, event.timeStamp - lastTap < doubleTap ? 2 : 1);
    lastTap = event.timeStamp;
  });
  canvas.addEventListener('mousedown', (event) => {
    if (isMouse) {
      press(event, event.detail);
    }
  });
  canvas.addEventListener('mouseup', (event) => {
    if (isMouse) {
      put('button', buttons[event.button] ?? 0, 0);
    }
  });
  canvas.addEventListener('pointermove', (event) => {
    if (fingers.has(event.pointerId)) {
      fingers.set(event.pointerId, { x: event.offsetX, y: event.offsetY });
    }
    if (fingers.size === 2) {
      const now = distance();
      put('wheel', 0, (now - spread) / 40); // spread fingers zoom as the wheel does
      spread = now;
      return;
    }
    putPlace(event);
  });
  const end = (event) => {
    if (fingers.delete(event.pointerId)) {
      put('button', 0, 0);
      put('move', -1, -1);
    }
  };
  canvas.addEventListener('pointerup', end);
  canvas.addEventListener('pointercancel', (event) => {
    end(event);
    buttons.forEach((_, number) => put('button', number, 0));
  });
  canvas.addEventListener('pointerleave', (event) => {
    if (event.buttons === 0) {
      put('move', -1, -1);
    }
  });
  canvas.addEventListener('contextmenu', (event) => event.preventDefault());
  canvas.addEventListener('wheel', (event) => {
    event.preventDefault(); // with control the browser would zoom the page
    const notch = [100, 3, 1][event.deltaMode] ?? 100;
    putModifiers(event);
    put('wheel', -event.deltaX / notch, -event.deltaY / notch);
  }, { passive: false });
}

function forwardKeys(canvas, put, putModifiers) {
  const numberOf = ({ key }) => keys.indexOf(key.length === 1 ? key.toLowerCase() : key);
  canvas.addEventListener('keydown', (event) => {
    putModifiers(event);
    const isCommand = event.ctrlKey || event.metaKey;
    if (numberOf(event) > 0 && (isCommand || event.key.length > 1)) {
      put('key', numberOf(event), 1);
    }
    if (!isCommand && [...event.key].length === 1) {
      put('character', event.key.codePointAt(0));
    }
    // The browser keeps its own commands, and Tab (number 0), by which one leaves the canvas.
    if (!isCommand && !event.altKey && event.key !== 'Tab' && !/^F\d+$/.test(event.key)) {
      event.preventDefault();
    }
  });
  canvas.addEventListener('keyup', (event) => {
    putModifiers(event);
    if (numberOf(event) >= 0) {
      put('key', numberOf(event), 0);
    }
  });
  addEventListener('paste', (event) => {
    for (const character of event.clipboardData?.getData('text').slice(0, 1000) ?? '') {
      put('character', character.codePointAt(0));
    }
  });
  canvas.addEventListener('focus', () => put('focus', 1));
  canvas.addEventListener('blur', (event) => {
    keys.forEach((_, number) => put('key', number, 0)); // nobody tells when they are let go
    putModifiers({ ...event, ctrlKey: false, shiftKey: false, altKey: false, metaKey: false });
    put('focus', 0);
  });
}
