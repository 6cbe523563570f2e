// What the panel asks the browser for; ../browser.cpp calls it. Runs in the page's worker.

// Synchronously, which workers may: so that the code that reads files elsewhere reads them here unchanged.
function fromServer({ url, token }, offset, size) {
  const request = new XMLHttpRequest();
  request.open('GET', url, false);
  request.responseType = 'arraybuffer';
  request.timeout = 30000;
  request.setRequestHeader('Range', `bytes=${offset}-${offset + size - 1}`);
  if (token) {
    request.setRequestHeader('Authorization', `Bearer ${token}`);
  }
  request.send();
  // Who does not know ranges answers 200 with everything, which may be large, and is of no use here.
  if (request.status !== 206) {
    throw new Error(`the server answers ${request.status} ${request.statusText}`);
  }
  return new Uint8Array(request.response);
}

function fromFile(file, offset, size) {
  return new Uint8Array(new FileReaderSync().readAsArrayBuffer(file.slice(offset, offset + size)));
}

function bytesOf(capture, offset, size) {
  if (capture.file) {
    return fromFile(capture.file, offset, size);
  }
  try {
    return fromServer(capture, offset, size);
  } catch (error) {
    return fromServer(capture, offset, size); // connections that were kept open may just have ended
  }
}

export class Browser {
  /// canvas: the page's OffscreenCanvas; copy: a function that takes a text for the clipboard.
  constructor({ canvas, copy }) {
    this.canvas = canvas;
    this.copy = copy;
    this.captures = new Map(); // number of a capture -> {url, token} on a server, or {file} that was dropped
    this.error = ''; // why the last fetch failed
  }

  /// Fills `out` with a capture's bytes from an offset; how many there were, or -1.
  fetch(number, offset, out) {
    try {
      const bytes = bytesOf(this.captures.get(number), offset, out.length).subarray(0, out.length);
      out.set(bytes);
      return bytes.length;
    } catch (error) {
      this.error = String(error.message || error);
      return -1;
    }
  }

  /// The canvas's WebGL 2 context, or null.
  context() {
    return this.canvas.getContext('webgl2', { alpha: false, depth: false, antialias: false });
  }

  /// Draws UTF-16 characters in the browser's own font into cells of a size, one below the other, one byte a pixel.
  drawGlyphs(characters, { width, height, letter, baseline }, out, advances) {
    const canvas = new OffscreenCanvas(width, height * characters.length);
    const context = canvas.getContext('2d', { willReadFrequently: true });
    context.font = `${letter}px system-ui, sans-serif`;
    context.fillStyle = '#fff';
    characters.forEach((code, i) => {
      const character = String.fromCharCode(code);
      context.fillText(character, 1, height * i + baseline);
      advances[i] = context.measureText(character).width;
    });
    const { data } = context.getImageData(0, 0, canvas.width, canvas.height);
    for (let i = 0; i < out.length; ++i) {
      out[i] = data[4 * i + 3];
    }
  }
}
