// Runs Perfetto's trace processor, the WebAssembly that its UI runs in a worker, without a browser:
//
//   node trace_processor.js ENGINE_FOLDER TRACE < queries.json
//
// ENGINE_FOLDER holds engine_bundle.js and trace_processor.wasm; the queries are a JSON array of SQL texts. Writes a JSON
// array with the rows of each query, an array of objects each. Whole numbers of 64 bits stay exact as texts of digits.
'use strict';
const fs = require('fs');
const path = require('path');

const appendTraceData = 1;
const finalizeTraceData = 2;
const queryStreaming = 3;

// --- what the trace processor's messages are made of ---

function varint(value) {
  const bytes = [];
  for (let rest = BigInt(value); ; rest >>= 7n) {
    if (rest < 128n) {
      bytes.push(Number(rest));
      return Buffer.from(bytes);
    }
    bytes.push(Number(rest & 127n) | 128);
  }
}

const number = (field, value) => Buffer.concat([varint(field << 3), varint(value)]);
const bytes = (field, value) => Buffer.concat([varint((field << 3) | 2), varint(value.length), value]);

/// The fields of a message: [number, value], value a BigInt or a Buffer.
function* fields(message) {
  let at = 0;
  const next = () => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = message[at++];
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) {
        return value;
      }
    }
  };
  while (at < message.length) {
    const key = next();
    const type = Number(key & 7n);
    if (type === 0) {
      yield [Number(key >> 3n), next()];
    } else {
      const size = type === 1 ? 8 : type === 5 ? 4 : Number(next());
      yield [Number(key >> 3n), message.subarray(at, at + size)];
      at += size;
    }
  }
}

/// Adds the rows of a part of a query's result.
function addRows(message, result) {
  for (const [field, value] of fields(message)) {
    if (field === 1) {
      result.columns.push(value.toString());
    } else if (field === 2 && value.length > 0) {
      throw new Error(value.toString());
    } else if (field === 3) {
      addBatch(value, result);
    }
  }
}

function addBatch(message, result) {
  const kinds = [];
  const integers = [];
  const floats = [];
  const texts = [];
  for (const [field, value] of fields(message)) {
    if (field === 1) {
      kinds.push(...value);
    } else if (field === 2) {
      for (let at = 0; at < value.length; ++at) {
        let integer = 0n;
        for (let shift = 0n; ; shift += 7n) {
          integer |= BigInt(value[at] & 127) << shift;
          if (value[at] < 128) {
            break;
          }
          ++at;
        }
        integers.push(BigInt.asIntN(64, integer));
      }
    } else if (field === 3) {
      for (let at = 0; at < value.length; at += 8) {
        floats.push(value.readDoubleLE(at));
      }
    } else if (field === 5) {
      texts.push(...value.toString().split('\0').slice(0, -1));
    } else if (field === 6) {
      result.isDone = value !== 0n;
    }
  }
  const take = { 1: () => null, 2: () => integers.shift(), 3: () => floats.shift(), 4: () => texts.shift() };
  for (let cell = 0; cell < kinds.length; cell += result.columns.length) {
    const row = {};
    for (let column = 0; column < result.columns.length; ++column) {
      const value = take[kinds[cell + column]]();
      row[result.columns[column]] =
        typeof value !== 'bigint' ? value : Number.isSafeInteger(Number(value)) ? Number(value) : value.toString();
    }
    result.rows.push(row);
  }
}

// --- the engine, which takes us for the worker that it runs in ---

function startEngine(folder, onReply) {
  const worker = {
    self: { location: { href: 'http://localhost/engine_bundle.js' } },
    WorkerGlobalScope: Object,
    process: undefined,
    console: { log() {}, warn() {}, error() {} },
    // It loads its WebAssembly as workers may: waiting for it.
    XMLHttpRequest: class {
      open(method, url) {
        this.file = path.join(folder, path.basename(url));
      }
      send() {
        this.response = fs.readFileSync(this.file);
      }
    },
  };
  const code = fs.readFileSync(path.join(folder, 'engine_bundle.js'), 'utf8');
  new Function(...Object.keys(worker), code)(...Object.values(worker));
  const port = { postMessage: onReply };
  worker.self.onmessage({ data: port });
  return port;
}

async function main([folder, trace]) {
  const queries = JSON.parse(fs.readFileSync(0, 'utf8'));
  let received = Buffer.alloc(0);
  let result = null;
  const port = startEngine(folder, (reply) => {
    for (const [, message] of fields(Buffer.from(reply))) {
      for (const [field, value] of fields(message)) {
        if (field === 5) {
          throw new Error(value.toString());
        }
        if (field === 203) {
          addRows(value, result);
        }
        if (field === 201 || field === 5) {
          for (const [part, text] of fields(value)) {
            if (part === 2) {
              throw new Error(text.toString());
            }
          }
        }
      }
    }
  });
  let sequence = 0;
  const send = (kind, ...more) => {
    const message = Buffer.concat([number(1, sequence++), number(2, kind), ...more]);
    port.onmessage({ data: new Uint8Array(bytes(1, message)) });
  };
  // The engine is ready when what it left to be done next is done.
  await new Promise(setImmediate);
  const content = fs.readFileSync(trace);
  for (let at = 0; at < content.length; at += 1 << 20) {
    send(appendTraceData, bytes(101, content.subarray(at, at + (1 << 20))));
  }
  send(finalizeTraceData);
  const results = [];
  for (const query of queries) {
    result = { columns: [], rows: [], isDone: false };
    send(queryStreaming, bytes(103, bytes(1, Buffer.from(query))));
    results.push(result.rows);
  }
  process.stdout.write(JSON.stringify(results) + '\n', () => process.exit(0));
}

main(process.argv.slice(2)).catch((error) => {
  process.stderr.write(`trace_processor: ${String(error.message || error).slice(0, 2000)}\n`);
  process.exit(1);
});
