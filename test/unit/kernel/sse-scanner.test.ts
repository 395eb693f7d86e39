import * as fc from 'fast-check';
import { type SseEvent, SseScanner, formatComment, formatEvent, ssePing } from '../../../src/kernel';

interface ScannedEvent {
  event?: string;
  id?: string;
  retry?: number;
  data: string | null;
  complete: boolean;
}

const toScannedEvent = ({ event, id, retry, data, complete }: SseEvent): ScannedEvent => ({
  ...(event === undefined ? {} : { event }),
  ...(id === undefined ? {} : { id }),
  ...(retry === undefined ? {} : { retry }),
  data: data === null ? null : data.toString('utf8'),
  complete,
});

function scan(pieces: Iterable<Uint8Array>, options: { everyBlock?: boolean } = {}): ScannedEvent[] {
  const events: ScannedEvent[] = [];
  const scanner = new SseScanner({ ...options, onEvent: (event) => events.push(toScannedEvent(event)) });
  for (const piece of pieces) expect(scanner.push(piece)).toBeUndefined();
  expect(scanner.end()).toBeUndefined();
  return events;
}

function* splitBytewise(bytes: Buffer): Generator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += 1) yield bytes.subarray(at, at + 1);
}

function cutAt(bytes: Buffer, places: readonly number[]): Buffer[] {
  const positions = [
    0,
    ...places.map((place) => place % (bytes.length + 1)).sort((a, b) => a - b),
    bytes.length,
  ];
  return positions.slice(1).map((to, index) => bytes.subarray(positions[index], to));
}

const chatTranscript = [
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

const oddTranscript = [
  'data\n\n',
  'data:\n\n',
  'data: a\ndata\ndata:  b\n\n',
  'event: lonely\n\n',
  'database: no\ndat: no\nunknown: field\n:\ndata: yes\n\n',
  'id: bad\0id\nretry: 12x\ndata: kept\n\n',
  'data: {"last":"without a blank line"}\n',
].join('');

const goldenTranscripts: Record<string, { text: string; events: ScannedEvent[] }> = {
  chat: {
    text: chatTranscript,
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
    text: oddTranscript,
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

describe.each(Object.entries(goldenTranscripts))('Transcript %s', (_name, { text, events }) => {
  describe.each(Object.entries(lineEnds))('Line endings %s', (_end, lineEnd) => {
    const bytes = Buffer.from(text.replaceAll('\n', lineEnd));

    test('is scanned in one piece', () => {
      expect(scan([bytes])).toEqual(events);
    });

    test('is scanned byte by byte', () => {
      expect(scan(splitBytewise(bytes))).toEqual(events);
    });

    test('is scanned in two pieces cut at every position', () => {
      for (let position = 0; position <= bytes.length; position += 1) {
        expect(scan([bytes.subarray(0, position), bytes.subarray(position)])).toEqual(events);
      }
    });

    test('is scanned in pieces cut anywhere', () => {
      fc.assert(
        fc.property(fc.array(fc.nat(), { maxLength: 12 }), (places) => {
          expect(scan(cutAt(bytes, places))).toEqual(events);
        }),
        { numRuns: 50 },
      );
    });
  });
});

test('line endings can be mixed', () => {
  const text = 'data: a\r\ndata: b\rdata: c\n\r\ndata: d\r\r\ndata: e\n\r';
  const events = [
    { data: 'a\nb\nc', complete: true },
    { data: 'd', complete: true },
    { data: 'e', complete: true },
  ];
  expect(scan([Buffer.from(text)])).toEqual(events);
  expect(scan(splitBytewise(Buffer.from(text)))).toEqual(events);
});

/** Reference implementation of the algorithm in the standard. */
function scanByStandard(text: string): ScannedEvent[] {
  const events: ScannedEvent[] = [];
  let current: { event?: string; data: string[] } = { data: [] };
  const lines = text.replace(/^\ufeff/, '').split(/\r\n|\r|\n/);
  const rest = lines.pop();
  for (const line of lines) {
    if (line === '') {
      if (current.data.length > 0) events.push({ ...current, data: current.data.join('\n'), complete: true });
      current = { data: [] };
      continue;
    }
    readLine(line, current);
  }
  if (rest) readLine(rest, current);
  if (current.data.length > 0) events.push({ ...current, data: current.data.join('\n'), complete: false });
  return events;
}

function readLine(line: string, into: { event?: string; data: string[] }): void {
  const [, name, value = ''] = /^([^:]*)(?:: ?([^]*))?$/.exec(line) ?? [];
  if (name === 'data') into.data.push(value);
  if (name === 'event') into.event = value;
}

test('any sequence of lines, line endings and cuts is scanned as the standard requires', () => {
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
    // The reference supports neither identifiers nor retry times.
    fc.string({ maxLength: 6 }).map((text) => text.replaceAll(/[\r\n]/g, '').replace(/^(id|retry)/, '')),
  );
  const anyLineEnd = fc.constantFrom('\n', '\r\n', '\r');
  fc.assert(
    fc.property(
      fc.array(fc.tuple(line, anyLineEnd), { maxLength: 20 }),
      fc.array(fc.nat(), { maxLength: 8 }),
      (parts, places) => {
        const text = parts.map(([content, end]) => content + end).join('');
        expect(scan(cutAt(Buffer.from(text), places))).toEqual(scanByStandard(text));
      },
    ),
    { numRuns: 500 },
  );
});

test('raw views of all blocks cover the stream without gaps', () => {
  const bytes = Buffer.from(
    `${chatTranscript}${messages.replaceAll('\n', '\r\n')}\r\n\r: x\r${oddTranscript}`,
  );
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
      for (const piece of cutAt(bytes, places)) scanner.push(piece);
      scanner.end();
      expect(Buffer.concat(blocks)).toEqual(bytes);
    }),
    { numRuns: 200 },
  );
});

test('event within one chunk is a view of it and not a copy', () => {
  const chunk = Buffer.from('data: one\n\ndata: two\n\n');
  const views: Buffer[] = [];
  new SseScanner({ onData: (data) => views.push(data) }).push(chunk);
  expect(views.map(String)).toEqual(['one', 'two']);
  for (const view of views) expect(view.buffer).toBe(chunk.buffer);
});

test('delivered data does not change while scanning continues', () => {
  const views: Buffer[] = [];
  const scanner = new SseScanner({ onData: (data) => views.push(data) });
  const expectedData = Array.from({ length: 50 }, (_, index) => `event number ${index}`);
  for (const piece of splitBytewise(
    Buffer.from(expectedData.map((data) => formatEvent({ data })).join('')),
  )) {
    // Simulates a reader that reuses its buffer.
    const reusedBuffer = Buffer.from(piece);
    scanner.push(reusedBuffer);
    reusedBuffer.fill(0);
  }
  expect(views.map(String)).toEqual(expectedData);
});

test('plain byte arrays are accepted', () => {
  const bytes = new TextEncoder().encode('xxdata: é\n\nxx');
  const views: string[] = [];
  new SseScanner({ onData: (data) => views.push(data.toString()) }).push(bytes.subarray(2, -2));
  expect(views).toEqual(['é']);
});

test('data-only callback reports whether the event is complete', () => {
  const calls: [string, boolean][] = [];
  const scanner = new SseScanner({ onData: (data, complete) => calls.push([data.toString(), complete]) });
  scanner.push(Buffer.from('data: a\n\ndata: b'));
  scanner.end();
  expect(calls).toEqual([
    ['a', true],
    ['b', false],
  ]);
});

describe('Oversized event', () => {
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
    const expectedResult = { views: ['x'.repeat(24)], end: 'provider_response_too_large' };
    expect(run([bytes])).toMatchObject(expectedResult);
    expect(run(splitBytewise(bytes))).toMatchObject(expectedResult);
  });

  test('is rejected before it is complete', () => {
    expect(run([Buffer.from('data: '), Buffer.from('x'.repeat(40))]).end).toBe('provider_response_too_large');
  });

  test('is accepted at exactly the maximum size', () => {
    expect(run(splitBytewise(Buffer.from(fits + fits)))).toEqual({
      views: ['x'.repeat(24), 'x'.repeat(24)],
      codes: new Set([undefined]),
      end: undefined,
    });
  });
});

test('large event in tiny chunks and many lines in one chunk take linear time', () => {
  const largeEvent = Buffer.from(formatEvent({ data: 'x'.repeat(2_000_000) }));
  const views: number[] = [];
  const scanner = new SseScanner({ onData: (data) => views.push(data.length) });
  // Quadratic work would fail by the test timeout.
  for (let at = 0; at < largeEvent.length; at += 7) scanner.push(largeEvent.subarray(at, at + 7));
  scanner.push(Buffer.from('data: y\r\r'.repeat(300_000)));
  expect(views).toHaveLength(300_001);
  expect(views[0]).toBe(2_000_000);
});

describe('SSE formatting', () => {
  test('writes an event', () => {
    expect(formatEvent({ data: '{"a":1}' })).toBe('data: {"a":1}\n\n');
    expect(formatEvent({ event: 'error', id: '3', data: 'x' })).toBe('event: error\nid: 3\ndata: x\n\n');
  });

  test('writes a comment', () => {
    expect(ssePing).toBe(': ping\n\n');
    expect(formatComment('a\r\nb')).toBe(': a\n: b\n\n');
  });

  test('name cannot inject another line', () => {
    expect(() => formatEvent({ event: 'a\ndata: b', data: '' })).toThrow(RangeError);
    expect(() => formatEvent({ id: 'a\rb', data: '' })).toThrow(RangeError);
  });

  test('written events are scanned back unchanged', () => {
    const oneLine = fc.string({ unit: 'grapheme' }).map((text) => text.replaceAll(/[\r\n\0]/g, ''));
    fc.assert(
      fc.property(oneLine, fc.string({ unit: 'grapheme' }), fc.array(fc.nat()), (event, data, places) => {
        const bytes = Buffer.from(formatEvent({ event, data }));
        expect(scan(cutAt(bytes, places))).toEqual([
          { event, data: data.replaceAll(/\r\n|\r/g, '\n'), complete: true },
        ]);
      }),
    );
  });
});
