// Stretches of time in links: "1.5s..2s", "250ms..", "..3min", as `kymo view --time` takes them.

const units = { ns: 1, us: 1e3, ms: 1e6, s: 1e9, min: 60e9, h: 3600e9 };

function parseDuration(text) {
  const [, number, unit] = text.match(/^(\d+(?:\.\d*)?|\.\d+)(ns|us|ms|s|min|h)?$/) ?? [];
  return number === undefined ? NaN : Math.round(Number(number) * units[unit ?? 's']);
}

/// [from, to] in nanoseconds since the start; `to` may be Infinity. null: the text is no stretch.
export function parseStretch(text) {
  const [first, last, ...more] = text.split('..');
  if (last === undefined || more.length > 0 || text === '..') {
    return null;
  }
  const from = first === '' ? 0 : parseDuration(first);
  const to = last === '' ? Infinity : parseDuration(last);
  return from < to ? [from, to] : null;
}
