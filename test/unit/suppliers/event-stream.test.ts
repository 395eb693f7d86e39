import { crc32 as crcOf } from 'node:zlib';
import fc from 'fast-check';
import { Fault } from '../../../src/kernel';
import { type EventStreamFrame, FrameReader } from '../../../src/routing/suppliers/bedrock/event-stream';
import { MessagesUnframer } from '../../../src/routing/suppliers/bedrock/unframe';
import { assemble, chunkFrame, frame, headerOf, sized } from '../../support/frames';

function read(chunks: readonly Buffer[]): { frames: EventStreamFrame[]; unfinished: boolean } {
  const reader = new FrameReader();
  const frames = chunks.flatMap((chunk) => {
    const found = reader.push(chunk);
    if (found instanceof Fault) throw found;
    return found;
  });
  return { frames, unfinished: reader.isUnfinished };
}

test('an empty frame has the checksums of the published example', () => {
  expect(assemble(Buffer.alloc(0), Buffer.alloc(0)).toString('hex')).toBe('000000100000000005c248eb7d98c8ff');
});

test('frames come out as they went in, in any pieces', () => {
  const one = fc.record({
    headers: fc.dictionary(fc.string({ minLength: 1, maxLength: 20 }), fc.string()),
    payload: fc.string(),
  });
  fc.assert(
    fc.property(fc.array(one, { maxLength: 5 }), fc.integer({ min: 1, max: 40 }), (frames, size) => {
      const plain = frames.map(({ headers, payload }) => ({ headers: { ...headers }, payload }));
      const bytes = Buffer.concat(plain.map(({ headers, payload }) => frame(headers, payload)));
      const pieces: Buffer[] = [];
      for (let at = 0; at < bytes.length; at += size) pieces.push(bytes.subarray(at, at + size));
      const got = read(pieces);
      expect(got.unfinished).toBe(false);
      expect(got.frames.map(({ payload }) => payload.toString())).toEqual(
        plain.map(({ payload }) => payload),
      );
      got.frames.forEach(({ headers }, index) => {
        for (const [name, value] of Object.entries(plain[index]!.headers)) {
          if (name !== '__proto__') expect(headers[name]).toBe(value);
        }
      });
    }),
    { numRuns: 100 },
  );
});

test('headers of every type are passed over', () => {
  const head = Buffer.concat([
    headerOf('true', 0, Buffer.alloc(0)),
    headerOf('byte', 2, Buffer.alloc(1)),
    headerOf('short', 3, Buffer.alloc(2)),
    headerOf('integer', 4, Buffer.alloc(4)),
    headerOf('long', 5, Buffer.alloc(8)),
    headerOf('bytes', 6, sized('xyz')),
    headerOf('time', 8, Buffer.alloc(8)),
    headerOf('uuid', 9, Buffer.alloc(16)),
    headerOf(':event-type', 7, sized('chunk')),
  ]);
  expect(read([assemble(head, Buffer.from('{}'))]).frames[0]?.headers).toEqual({ ':event-type': 'chunk' });
});

test('one flipped bit anywhere is noticed, and nothing is read as something else', () => {
  const good = chunkFrame({ type: 'message_stop' });
  for (let at = 0; at < good.length; at += 1) {
    const bad = Buffer.from(good);
    bad[at]! ^= 0x10;
    const reader = new FrameReader();
    expect(reader.push(bad)).toBeInstanceOf(Fault);
  }
});

test.each([
  ['headers longer than the frame', assembleWith((bytes) => bytes.writeUInt32BE(4_000, 4))],
  ['a length of next to nothing', assembleWith((bytes) => bytes.writeUInt32BE(3, 0))],
  ['a length beyond all bounds', assembleWith((bytes) => bytes.writeUInt32BE(0xfffffff0, 0))],
  ['a header that runs out of the frame', assemble(Buffer.from([200, 65, 7, 0, 9]), Buffer.alloc(0))],
  ['a header of an unknown type', assemble(headerOf('x', 42, Buffer.alloc(0)), Buffer.alloc(0))],
])('%s', (_name, bytes) => {
  expect(new FrameReader().push(bytes)).toMatchObject({ code: 'agentcli_incomplete_stream' });
});

/** A frame whose prelude lies, with a checksum that fits the lie. */
function assembleWith(lie: (bytes: Buffer) => void): Buffer {
  const lying = Buffer.alloc(64);
  assemble(Buffer.alloc(0), Buffer.alloc(48)).copy(lying);
  lie(lying);
  lying.writeUInt32BE(crcOf(lying.subarray(0, 8)), 8);
  lying.writeUInt32BE(crcOf(lying.subarray(0, 60)), 60);
  return lying;
}

test('what means nothing to the dialect is left out, what breaks off is said', () => {
  const unframer = new MessagesUnframer();
  const other = frame({ ':event-type': 'metadata', ':message-type': 'event' }, '{}');
  expect(unframer.push(Buffer.concat([other, chunkFrame({ type: 'ping' }).subarray(0, 20)])).toString()).toBe(
    '',
  );
  expect(unframer.end()).toMatchObject({ code: 'agentcli_incomplete_stream' });
});

test('an event without a type is no event', () => {
  expect(new MessagesUnframer().push(chunkFrame({ no: 'type' }))).toMatchObject({
    code: 'non_json_provider_response',
  });
});

test.each([
  ['throttlingException', 'rate_limit_error'],
  ['validationException', 'invalid_request_error'],
  ['modelStreamErrorException', 'api_error'],
])('the exception %s becomes an event of the dialect', (name, type) => {
  const bytes = frame({ ':message-type': 'exception', ':exception-type': name }, '{"message":"why"}');
  expect(new MessagesUnframer().push(bytes).toString()).toBe(
    `event: error\ndata: {"type":"error","error":{"type":"${type}","message":"why"}}\n\n`,
  );
});
