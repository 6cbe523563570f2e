// What the panel asks the browser for (browser.hpp). Runs in the page's worker; worker.js sets Module.kymo:
//   canvas     the page's OffscreenCanvas
//   captures   a Map: number of a capture -> {url, token} on a server, or {file} that was dropped
//   copy       a function that takes a text for the clipboard
// Written as Emscripten 3.1.6 takes libraries: functions with the word, and no methods.
mergeInto(LibraryManager.library, {
  $kymoBytes: {
    error: '',

    // Synchronously, which workers may: so that the code that reads files elsewhere reads them here unchanged.
    fromServer: function(capture, offset, size) {
      const request = new XMLHttpRequest();
      request.open('GET', capture.url, false);
      request.responseType = 'arraybuffer';
      request.timeout = 30000;
      request.setRequestHeader('Range', `bytes=${offset}-${offset + size - 1}`);
      if (capture.token) {
        request.setRequestHeader('Authorization', `Bearer ${capture.token}`);
      }
      request.send();
      // Who does not know ranges answers 200 with everything, which may be large, and is of no use here.
      if (request.status !== 206) {
        throw new Error(`the server answers ${request.status} ${request.statusText}`);
      }
      return new Uint8Array(request.response);
    },

    fromFile: function(file, offset, size) {
      return new Uint8Array(new FileReaderSync().readAsArrayBuffer(file.slice(offset, offset + size)));
    },
  },

  kymo_browser_fetch__deps: ['$kymoBytes'],
  kymo_browser_fetch: function(number, offset, out, size) {
    const capture = Module.kymo.captures.get(number);
    try {
      let bytes;
      if (capture.file) {
        bytes = kymoBytes.fromFile(capture.file, offset, size);
      } else {
        try {
          bytes = kymoBytes.fromServer(capture, offset, size);
        } catch (error) {
          bytes = kymoBytes.fromServer(capture, offset, size); // connections that were kept open may just have ended
        }
      }
      bytes = bytes.subarray(0, size);
      HEAPU8.set(bytes, out);
      return bytes.length;
    } catch (error) {
      kymoBytes.error = String(error.message || error);
      return -1;
    }
  },

  kymo_browser_error__deps: ['$kymoBytes'],
  kymo_browser_error: function(out, size) {
    stringToUTF8(kymoBytes.error, out, size);
  },

  kymo_browser_make_context__deps: ['$GL'],
  kymo_browser_make_context: function() {
    const context = Module.kymo.canvas.getContext('webgl2', { alpha: false, depth: false, antialias: false });
    return context && GL.makeContextCurrent(GL.registerContext(context, { majorVersion: 2, minorVersion: 0 })) ? 1 : 0;
  },

  kymo_browser_draw_glyphs: function(characters, count, pixels, baseline, width, height, out, advances) {
    const canvas = new OffscreenCanvas(width, height * count);
    const context = canvas.getContext('2d', { willReadFrequently: true });
    context.font = `${pixels}px system-ui, sans-serif`;
    context.fillStyle = '#fff';
    for (let i = 0; i < count; ++i) {
      const character = String.fromCharCode(HEAPU16[(characters >> 1) + i]);
      context.fillText(character, 1, height * i + baseline);
      HEAPF32[(advances >> 2) + i] = context.measureText(character).width;
    }
    const { data } = context.getImageData(0, 0, canvas.width, canvas.height);
    for (let i = 0; i < width * height * count; ++i) {
      HEAPU8[out + i] = data[4 * i + 3];
    }
  },

  kymo_browser_copy: function(text) {
    Module.kymo.copy(UTF8ToString(text));
  },
});
