import * as fc from 'fast-check';
import { type SseEvent, SseScanner, formatComment, formatEvent, ssePing } from '../../../src/kernel';

interface Seen {
  event?: string;
  id?: string;
  retry?: number;
  data: string | null;
  complete: boolean;
}

const seen = ({ event, id, retry, data, complete }: SseEvent): Seen => ({
  ...(event === undefined ? {} : { event }),
  ...(id === undefined ? {} : { id }),
  ...(retry === undefined ? {} : { retry }),
  data: data === null ? null : data.toString('utf8'),
  complete,
});

function scan(pieces: Iterable<Uint8Array>, options: { everyBlock?: boolean } = {}): Seen[] {
  const events: Seen[] = [];
  const scanner = new SseScanner({ ...options, onEvent: (event) => events.push(seen(event)) });
  for (const piece of pieces) expect(scanner.push(piece)).toBeUndefined();
  expect(scanner.end()).toBeUndefined();
  return events;
}

function* bytewise(bytes: Buffer): Generator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += 1) yield bytes.subarray(at, at + 1);
}

function cut(bytes: Buffer, places: readonly number[]): Buffer[] {
  const sorted = [
    0,
    ...places.map((place) => place % (bytes.length + 1)).sort((a, b) => a - b),
    bytes.length,
  ];
  return sorted.slice(1).map((to, index) => bytes.subarray(sorted[index], to));
}

const chat = [
  '\ufeff: connected\n\n',
  'data: {"id":"c1","choices":[{"delta":{"role":"assistant"}}]}\n\n',
  'data: {"choices":[{"delta":{"content":"Grüezi 😀 — dvě"}}]}\n\n',
  ': keep-alive\n\n\n\n',
  'data:{"choices":[],"usage":{"prompt_tokens":3}}\n\n',
  'data: [DONE]\n\n',
].join('');

const messages = [
  'event: message_start\ndata: {"type":"message_start"}\n\n',
  'event: ping\ndata: {"type": "ping"}\n\n',
  'id: 7\nretry: 1500\nevent:content_block_delta\ndata: {"type":"content_block_delta",\ndata:  "text":"ž"}\n\n',
  'event: message_stop\ndata: {"type":"message_stop"}\n\n',
].join('');

const odd = [
  'data\n\n',
  'data:\n\n',
  'data: a\ndata\ndata:  b\n\n',
  'event: lonely\n\n',
  'database: no\ndat: no\nunknown: field\n:\ndata: yes\n\n',
  'id: bad\0id\nretry: 12x\ndata: kept\n\n',
  'data: {"last":"without a blank line"}\n',
].join('');

const golden: Record<string, { text: string; events: Seen[] }> = {
  chat: {
    text: chat,
    events: [
      { data: '{"id":"c1","choices":[{"delta":{"role":"assistant"}}]}', complete: true },
      { data: '{"choices":[{"delta":{"content":"Grüezi 😀 — dvě"}}]}', complete: true },
      { data: '{"choices":[],"usage":{"prompt_tokens":3}}', complete: true },
      { data: '[DONE]', complete: true },
    ],
  },
  messages: {
    text: messages,
    events: [
      { event: 'message_start', data: '{"type":"message_start"}', complete: true },
      { event: 'ping', data: '{"type": "ping"}', complete: true },
      {
        event: 'content_block_delta',
        id: '7',
        retry: 1500,
        data: '{"type":"content_block_delta",\n "text":"ž"}',
        complete: true,
      },
      { event: 'message_stop', data: '{"type":"message_stop"}', complete: true },
    ],
  },
  odd: {
    text: odd,
    events: [
      { data: '', complete: true },
      { data: '', complete: true },
      { data: 'a\n\n b', complete: true },
      { data: 'yes', complete: true },
      { data: 'kept', complete: true },
      { data: '{"last":"without a blank line"}', complete: false },
    ],
  },
  'byte order mark before data': {
    text: '\ufeffdata: first\n\ndata: second\n\n',
    events: [
      { data: 'first', complete: true },
      { data: 'second', complete: true },
    ],
  },
  'a cut line': { text: 'data: {"cut":', events: [{ data: '{"cut":', complete: false }] },
  nothing: { text: '', events: [] },
};

const lineEnds: Record<string, string> = { LF: '\n', CRLF: '\r\n', CR: '\r' };

describe.each(Object.entries(golden))('transcript: %s', (_name, { text, events }) => {
  describe.each(Object.entries(lineEnds))('with %s', (_end, lineEnd) => {
    const bytes = Buffer.from(text.replaceAll('\n', lineEnd));

    test('in one piece', () => {
      expect(scan([bytes])).toEqual(events);
    });

    test('byte by byte', () => {
      expect(scan(bytewise(bytes))).toEqual(events);
    });

    test('cut in two at every place', () => {
      for (let place = 0; place <= bytes.length; place += 1) {
        expect(scan([bytes.subarray(0, place), bytes.subarray(place)])).toEqual(events);
      }
    });

    test('cut anywhere', () => {
      fc.assert(
        fc.property(fc.array(fc.nat(), { maxLength: 12 }), (places) => {
          expect(scan(cut(bytes, places))).toEqual(events);
        }),
        { numRuns: 50 },
      );
    });
  });
});

test('line ends may be mixed', () => {
  const text = 'data: a\r\ndata: b\rdata: c\n\r\ndata: d\r\r\ndata: e\n\r';
  const events = [
    { data: 'a\nb\nc', complete: true },
    { data: 'd', complete: true },
    { data: 'e', complete: true },
  ];
  expect(scan([Buffer.from(text)])).toEqual(events);
  expect(scan(bytewise(Buffer.from(text)))).toEqual(events);
});

/** The format's own algorithm, as plainly as it can be written. */
function reference(text: string): Seen[] {
  const events: Seen[] = [];
  let current: { event?: string; data: string[] } = { data: [] };
  const lines = text.replace(/^\ufeff/, '').split(/\r\n|\r|\n/);
  const last = lines.pop();
  for (const line of lines) {
    if (line === '') {
      if (current.data.length > 0) events.push({ ...current, data: current.data.join('\n'), complete: true });
      current = { data: [] };
      continue;
    }
    read(line, current);
  }
  if (last) read(last, current);
  if (current.data.length > 0) events.push({ ...current, data: current.data.join('\n'), complete: false });
  return events;
}

function read(line: string, into: { event?: string; data: string[] }): void {
  const [, name, value = ''] = /^([^:]*)(?:: ?([^]*))?$/.exec(line) ?? [];
  if (name === 'data') into.data.push(value);
  if (name === 'event') into.event = value;
}

test('any sequence of lines, line ends and cuts reads as the format says', () => {
  const line = fc.oneof(
    fc.constantFrom(
      '',
      '',
      'data',
      'data:',
      'data: ',
      'data: x',
      'data:  y: z',
      ': c',
      'event: e',
      'event',
      'datax: n',
      'é',
    ),
    // The reference knows no identifiers and no retry times.
    fc.string({ maxLength: 6 }).map((text) => text.replaceAll(/[\r\n]/g, '').replace(/^(id|retry)/, '')),
  );
  const anyLineEnd = fc.constantFrom('\n', '\r\n', '\r');
  fc.assert(
    fc.property(
      fc.array(fc.tuple(line, anyLineEnd), { maxLength: 20 }),
      fc.array(fc.nat(), { maxLength: 8 }),
      (parts, places) => {
        const text = parts.map(([content, end]) => content + end).join('');
        expect(scan(cut(Buffer.from(text), places))).toEqual(reference(text));
      },
    ),
    { numRuns: 500 },
  );
});

test('the raw views of all blocks tile the stream', () => {
  const bytes = Buffer.from(`${chat}${messages.replaceAll('\n', '\r\n')}\r\n\r: x\r${odd}`);
  fc.assert(
    fc.property(fc.array(fc.nat(), { maxLength: 12 }), (places) => {
      const blocks: Buffer[] = [];
      let offset = 0;
      const scanner = new SseScanner({
        everyBlock: true,
        onEvent: (event) => {
          expect(event.offset).toBe(offset);
          offset += event.raw.length;
          blocks.push(Buffer.from(event.raw));
        },
      });
      for (const piece of cut(bytes, places)) scanner.push(piece);
      scanner.end();
      expect(Buffer.concat(blocks)).toEqual(bytes);
    }),
    { numRuns: 200 },
  );
});

test('an event within one chunk is a view of it, not a copy', () => {
  const chunk = Buffer.from('data: one\n\ndata: two\n\n');
  const views: Buffer[] = [];
  new SseScanner({ onData: (data) => views.push(data) }).push(chunk);
  expect(views.map(String)).toEqual(['one', 'two']);
  for (const view of views) expect(view.buffer).toBe(chunk.buffer);
});

test('what was handed out stays as it was while the scan goes on', () => {
  const views: Buffer[] = [];
  const scanner = new SseScanner({ onData: (data) => views.push(data) });
  const wanted = Array.from({ length: 50 }, (_, index) => `event number ${index}`);
  for (const piece of bytewise(Buffer.from(wanted.map((data) => formatEvent({ data })).join('')))) {
    // A reader that reuses its buffer.
    const reused = Buffer.from(piece);
    scanner.push(reused);
    reused.fill(0);
  }
  expect(views.map(String)).toEqual(wanted);
});

test('plain byte arrays are welcome', () => {
  const all = new TextEncoder().encode('xxdata: é\n\nxx');
  const views: string[] = [];
  new SseScanner({ onData: (data) => views.push(data.toString()) }).push(all.subarray(2, -2));
  expect(views).toEqual(['é']);
});

test('the cheap way says whether the stream broke off', () => {
  const calls: [string, boolean][] = [];
  const scanner = new SseScanner({ onData: (data, complete) => calls.push([data.toString(), complete]) });
  scanner.push(Buffer.from('data: a\n\ndata: b'));
  scanner.end();
  expect(calls).toEqual([
    ['a', true],
    ['b', false],
  ]);
});

describe('an event that outgrows the bound', () => {
  const run = (pieces: Iterable<Uint8Array>) => {
    const views: string[] = [];
    const scanner = new SseScanner({ maxEventBytes: 32, onData: (data) => views.push(data.toString()) });
    const results = [...pieces].map((piece) => scanner.push(piece));
    return { views, codes: new Set(results.map((result) => result?.code)), end: scanner.end()?.code };
  };
  const fits = `data: ${'x'.repeat(24)}\n\n`;
  const tooLarge = `data: ${'x'.repeat(25)}\n\n`;

  test('ends the scan with a fault, however it arrives', () => {
    const bytes = Buffer.from(`${fits}${tooLarge}${fits}`);
    const wanted = { views: ['x'.repeat(24)], end: 'provider_response_too_large' };
    expect(run([bytes])).toMatchObject(wanted);
    expect(run(bytewise(bytes))).toMatchObject(wanted);
  });

  test('is refused before its end has come', () => {
    expect(run([Buffer.from('data: '), Buffer.from('x'.repeat(40))]).end).toBe('provider_response_too_large');
  });

  test('one that just fits passes', () => {
    expect(run(bytewise(Buffer.from(fits + fits)))).toEqual({
      views: ['x'.repeat(24), 'x'.repeat(24)],
      codes: new Set([undefined]),
      end: undefined,
    });
  });
});

test('a large event in tiny chunks, and many lines in one chunk, take linear time', () => {
  const large = Buffer.from(formatEvent({ data: 'x'.repeat(2_000_000) }));
  const views: number[] = [];
  const scanner = new SseScanner({ onData: (data) => views.push(data.length) });
  // Quadratic work would end at the time limit of every test.
  for (let at = 0; at < large.length; at += 7) scanner.push(large.subarray(at, at + 7));
  scanner.push(Buffer.from('data: y\r\r'.repeat(300_000)));
  expect(views).toHaveLength(300_001);
  expect(views[0]).toBe(2_000_000);
});

describe('writing', () => {
  test('an event', () => {
    expect(formatEvent({ data: '{"a":1}' })).toBe('data: {"a":1}\n\n');
    expect(formatEvent({ event: 'error', id: '3', data: 'x' })).toBe('event: error\nid: 3\ndata: x\n\n');
  });

  test('a comment', () => {
    expect(ssePing).toBe(': ping\n\n');
    expect(formatComment('a\r\nb')).toBe(': a\n: b\n\n');
  });

  test('a name cannot smuggle in another line', () => {
    expect(() => formatEvent({ event: 'a\ndata: b', data: '' })).toThrow(RangeError);
    expect(() => formatEvent({ id: 'a\rb', data: '' })).toThrow(RangeError);
  });

  test('what is written is read back', () => {
    const oneLine = fc.string({ unit: 'grapheme' }).map((text) => text.replaceAll(/[\r\n\0]/g, ''));
    fc.assert(
      fc.property(oneLine, fc.string({ unit: 'grapheme' }), fc.array(fc.nat()), (event, data, places) => {
        const bytes = Buffer.from(formatEvent({ event, data }));
        expect(scan(cut(bytes, places))).toEqual([
          { event, data: data.replaceAll(/\r\n|\r/g, '\n'), complete: true },
        ]);
      }),
    );
  });
});
