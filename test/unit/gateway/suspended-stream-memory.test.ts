import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { StreamEditor } from '../../../src/gateway/relay/stream-editor';
import { ResponseParser } from '../../../src/platform/supplier-http/wire/response-parser';
import { dialects } from '../../../src/protocol';

const STREAMS = 300;
const PIECE_BYTES = 16 * 1024;
/** Bytes per suspended stream apart from passed data: one or two kilobytes, in which an event begins. */
const MAX_BYTES = STREAMS * 4 * 1024;

// Same setting as the service.
Buffer.poolSize = 8 * 1024;
setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

function retainedBytes(): number {
  collectGarbage();
  // Buffers are released outside the heap and accounted for in the next collection.
  collectGarbage();
  return process.memoryUsage().arrayBuffers;
}

const event = `data: {"id":"c","choices":[{"index":0,"delta":{"content":"${'on '.repeat(100)}"}}]}\n\n`;
const stream = event.repeat((3 * PIECE_BYTES) / event.length);
/** Complete events, and the beginning of another that the next piece completes. */
const pieceAt = (number: number): Buffer =>
  Buffer.from(stream.slice(number * PIECE_BYTES, (number + 1) * PIECE_BYTES));

test('suspended stream keeps only the bytes that were not passed on', () => {
  const streams: object[] = [];
  const bytesBefore = retainedBytes();
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
  expect(retainedBytes() - bytesBefore).toBeLessThan(MAX_BYTES);
  expect(streams).toHaveLength(STREAMS);
});

test('connection keeps no bytes that it has delivered', () => {
  const responseHead = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n';
  // The last chunk is incomplete.
  const memory = Buffer.from(
    `${responseHead}1\r\na\r\n${(2 * PIECE_BYTES).toString(16)}\r\n${'a'.repeat(PIECE_BYTES)}`,
  );
  let deliveredBytes = 0;
  const sink = { onHead: () => undefined, onData: ({ length }: Buffer) => (deliveredBytes += length) };
  const parsers: ResponseParser[] = [];
  const bytesBefore = retainedBytes();
  for (let n = 0; n < STREAMS; n += 1) {
    const parser = new ResponseParser();
    parser.expect(sink);
    expect(parser.read(memory, memory.length)).toBe(false);
    parsers.push(parser);
  }
  expect(deliveredBytes).toBe(STREAMS * (1 + PIECE_BYTES));
  expect(retainedBytes() - bytesBefore).toBeLessThan(MAX_BYTES);
  expect(parsers).toHaveLength(STREAMS);
});
