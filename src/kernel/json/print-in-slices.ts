import { JsonText } from './json-text';

/** Maximum printed before other requests get their turn. */
const SLICE_CHARACTERS = 512 * 1024;
const SLICE_VALUES = 10_000;

const yieldToEventLoop = (): Promise<void> => new Promise(setImmediate);

export async function printJsonInSlices(value: unknown): Promise<Buffer> {
  const slices: Buffer[] = [];
  let slice = '';
  let texts = 0;
  for (const text of textsOf(value)) {
    slice += text;
    texts += 1;
    if (slice.length < SLICE_CHARACTERS && texts < SLICE_VALUES) continue;
    slices.push(Buffer.from(slice));
    slice = '';
    texts = 0;
    await yieldToEventLoop();
  }
  slices.push(Buffer.from(slice));
  return Buffer.concat(slices);
}

function* textsOf(value: unknown): Generator<string> {
  if (typeof value === 'string' && value.length > SLICE_CHARACTERS) yield* textsOfString(value);
  else if (typeof value !== 'object' || value === null) yield JSON.stringify(value) ?? 'null';
  else if (value instanceof JsonText) yield value.text;
  else if (Array.isArray(value)) yield* textsOfArray(value);
  else yield* textsOfObject(value);
}

function* textsOfArray(items: readonly unknown[]): Generator<string> {
  let before = '[';
  for (const item of items) {
    yield before;
    yield* textsOf(item);
    before = ',';
  }
  yield before === '[' ? '[]' : ']';
}

function* textsOfObject(fields: object): Generator<string> {
  let before = '{';
  for (const [name, value] of Object.entries(fields) as [string, unknown][]) {
    // Values that JSON cannot represent are omitted.
    if (value === undefined || typeof value === 'function' || typeof value === 'symbol') continue;
    yield `${before}${JSON.stringify(name)}:`;
    yield* textsOf(value);
    before = ',';
  }
  yield before === '{' ? '{}' : '}';
}

function* textsOfString(text: string): Generator<string> {
  yield '"';
  for (let at = 0; at < text.length;) {
    let end = Math.min(text.length, at + SLICE_CHARACTERS);
    // The two halves of a surrogate pair stay together.
    if (end < text.length && (text.charCodeAt(end - 1) & 0xfc00) === 0xd800) end -= 1;
    yield JSON.stringify(text.slice(at, end)).slice(1, -1);
    at = end;
  }
  yield '"';
}
