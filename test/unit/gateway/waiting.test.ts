import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { StreamEditor } from '../../../src/gateway/relay/stream-editor';
import { ResponseParser } from '../../../src/platform/supplier-http/wire/response-parser';
import { dialects } from '../../../src/protocol';

const STREAMS = 300;
const PIECE_BYTES = 16 * 1024;
/** Of a stream that waits, apart from what was passed on: a kilobyte or two, in which an event begins. */
const MOST_BYTES = STREAMS * 4 * 1024;

// As the service does.
Buffer.poolSize = 8 * 1024;
setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

function bytesKept(): number {
  collect();
  // Bytes are given back beside the process, and are known to be gone with the next collection.
  collect();
  return process.memoryUsage().arrayBuffers;
}

const event = `data: {"id":"c","choices":[{"index":0,"delta":{"content":"${'on '.repeat(100)}"}}]}\n\n`;
const stream = event.repeat((3 * PIECE_BYTES) / event.length);
/** Whole events, and the beginning of another that the next piece ends. */
const pieceAt = (number: number): Buffer =>
  Buffer.from(stream.slice(number * PIECE_BYTES, (number + 1) * PIECE_BYTES));

test('a stream that waits keeps of its pieces only what has not gone on', () => {
  const streams: object[] = [];
  const before = bytesKept();
  for (let n = 0; n < STREAMS; n += 1) {
    const tap = new StreamEditor({
      dialect: dialects.chat,
      hidesUsage: false,
      manyAnswers: false,
      keepsFailure: () => false,
      model: null,
      facts: null,
    });
    for (const number of [0, 1]) expect(tap.take(pieceAt(number)).length).toBeGreaterThan(PIECE_BYTES / 2);
    streams.push(tap);
  }
  expect(bytesKept() - before).toBeLessThan(MOST_BYTES);
  expect(streams).toHaveLength(STREAMS);
});

test('a connection keeps nothing of what it has handed over', () => {
  const head = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n';
  // Of the last chunk some is still to come.
  const memory = Buffer.from(
    `${head}1\r\na\r\n${(2 * PIECE_BYTES).toString(16)}\r\n${'a'.repeat(PIECE_BYTES)}`,
  );
  let handed = 0;
  const sink = { onHead: () => undefined, onData: ({ length }: Buffer) => (handed += length) };
  const parsers: ResponseParser[] = [];
  const before = bytesKept();
  for (let n = 0; n < STREAMS; n += 1) {
    const parser = new ResponseParser();
    parser.expect(sink);
    expect(parser.read(memory, memory.length)).toBe(false);
    parsers.push(parser);
  }
  expect(handed).toBe(STREAMS * (1 + PIECE_BYTES));
  expect(bytesKept() - before).toBeLessThan(MOST_BYTES);
  expect(parsers).toHaveLength(STREAMS);
});
