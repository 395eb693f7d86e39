import { crc32 as crcOf } from 'node:zlib';
import fc from 'fast-check';
import { Fault } from '../../../src/kernel';
import { type EventStreamFrame, FrameReader } from '../../../src/routing/suppliers/bedrock/event-stream';
import { MessagesUnframer } from '../../../src/routing/suppliers/bedrock/unframe';
import { assemble, chunkFrame, frame, headerOf, sized } from '../../support/frames';

function readFrames(chunks: readonly Buffer[]): { frames: EventStreamFrame[]; unfinished: boolean } {
  const reader = new FrameReader();
  const frames = chunks.flatMap((chunk) => {
    const newFrames = reader.push(chunk);
    if (newFrames instanceof Fault) throw newFrames;
    return newFrames;
  });
  return { frames, unfinished: reader.isUnfinished };
}

test('empty frame has the checksums of the published example', () => {
  expect(assemble(Buffer.alloc(0), Buffer.alloc(0)).toString('hex')).toBe('000000100000000005c248eb7d98c8ff');
});

test('frames are read back unchanged in any pieces', () => {
  const anyFrame = fc.record({
    headers: fc.dictionary(fc.string({ minLength: 1, maxLength: 20 }), fc.string()),
    payload: fc.string(),
  });
  fc.assert(
    fc.property(fc.array(anyFrame, { maxLength: 5 }), fc.integer({ min: 1, max: 40 }), (frames, size) => {
      const plain = frames.map(({ headers, payload }) => ({ headers: { ...headers }, payload }));
      const bytes = Buffer.concat(plain.map(({ headers, payload }) => frame(headers, payload)));
      const pieces: Buffer[] = [];
      for (let at = 0; at < bytes.length; at += size) pieces.push(bytes.subarray(at, at + size));
      const result = readFrames(pieces);
      expect(result.unfinished).toBe(false);
      expect(result.frames.map(({ payload }) => payload.toString())).toEqual(
        plain.map(({ payload }) => payload),
      );
      result.frames.forEach(({ headers }, index) => {
        for (const [name, value] of Object.entries(plain[index]!.headers)) {
          if (name !== '__proto__') expect(headers[name]).toBe(value);
        }
      });
    }),
    { numRuns: 100 },
  );
});

test('headers of every type are skipped', () => {
  const headers = Buffer.concat([
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
  expect(readFrames([assemble(headers, Buffer.from('{}'))]).frames[0]?.headers).toEqual({
    ':event-type': 'chunk',
  });
});

test('any flipped bit is detected and nothing is misread', () => {
  const validFrame = chunkFrame({ type: 'message_stop' });
  for (let at = 0; at < validFrame.length; at += 1) {
    const damagedFrame = Buffer.from(validFrame);
    damagedFrame[at]! ^= 0x10;
    const reader = new FrameReader();
    expect(reader.push(damagedFrame)).toBeInstanceOf(Fault);
  }
});

test.each([
  ['headers longer than the frame', assembleTampered((bytes) => bytes.writeUInt32BE(4_000, 4))],
  ['a length of next to nothing', assembleTampered((bytes) => bytes.writeUInt32BE(3, 0))],
  ['a length beyond all bounds', assembleTampered((bytes) => bytes.writeUInt32BE(0xfffffff0, 0))],
  ['a header that runs out of the frame', assemble(Buffer.from([200, 65, 7, 0, 9]), Buffer.alloc(0))],
  ['a header of an unknown type', assemble(headerOf('x', 42, Buffer.alloc(0)), Buffer.alloc(0))],
])('invalid frame is rejected: %s', (_name, bytes) => {
  expect(new FrameReader().push(bytes)).toMatchObject({ code: 'agentcli_incomplete_stream' });
});

/** Builds a frame with a false prelude and a matching checksum. */
function assembleTampered(lie: (bytes: Buffer) => void): Buffer {
  const tamperedFrame = Buffer.alloc(64);
  assemble(Buffer.alloc(0), Buffer.alloc(48)).copy(tamperedFrame);
  lie(tamperedFrame);
  tamperedFrame.writeUInt32BE(crcOf(tamperedFrame.subarray(0, 8)), 8);
  tamperedFrame.writeUInt32BE(crcOf(tamperedFrame.subarray(0, 60)), 60);
  return tamperedFrame;
}

test('irrelevant events are skipped, and interruptions are reported', () => {
  const unframer = new MessagesUnframer();
  const otherEvent = frame({ ':event-type': 'metadata', ':message-type': 'event' }, '{}');
  expect(
    unframer.push(Buffer.concat([otherEvent, chunkFrame({ type: 'ping' }).subarray(0, 20)])).toString(),
  ).toBe('');
  expect(unframer.end()).toMatchObject({ code: 'agentcli_incomplete_stream' });
});

test('event without a type is ignored', () => {
  expect(new MessagesUnframer().push(chunkFrame({ no: 'type' }))).toMatchObject({
    code: 'non_json_provider_response',
  });
});

test.each([
  ['throttlingException', 'rate_limit_error'],
  ['validationException', 'invalid_request_error'],
  ['modelStreamErrorException', 'api_error'],
])('exception %s becomes an event of the dialect', (name, type) => {
  const bytes = frame({ ':message-type': 'exception', ':exception-type': name }, '{"message":"why"}');
  expect(new MessagesUnframer().push(bytes).toString()).toBe(
    `event: error\ndata: {"type":"error","error":{"type":"${type}","message":"why"}}\n\n`,
  );
});
