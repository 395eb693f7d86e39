import fc from 'fast-check';
import { audioLengthOf } from '../../../src/gateway/media/audio-length';

function checksum(bytes: readonly number[]): number {
  let sum = 0;
  for (const byte of bytes) {
    sum ^= byte;
    for (let bit = 0; bit < 8; bit += 1) sum = sum & 0x80 ? ((sum << 1) ^ 7) & 0xff : (sum << 1) & 0xff;
  }
  return sum;
}

/**
 * Returns a FLAC file of the given blocks, each with a few bytes of audio; its header claims `claimedSamples` samples.
 */
function flacFile(
  blocks: readonly number[],
  rate: number,
  claimedSamples: number,
  soundBytes: number,
): Buffer {
  const header = Buffer.alloc(42);
  header.write('fLaC', 0, 'latin1');
  header.writeUInt8(0x80, 4);
  header.writeUIntBE(34, 5, 3);
  header.writeUIntBE((rate << 4) >>> 0, 18, 3);
  header.writeUInt32BE(claimedSamples, 22);
  const frames = blocks.map((samples, place) => {
    const size = samples - 1;
    const start = [0xff, 0xf8, 0x70, 0x08, place % 128, size >> 8, size & 255];
    return Buffer.from([...start, checksum(start), ...Array<number>(soundBytes).fill(0)]);
  });
  return Buffer.concat([header, ...frames]);
}

/** Returns an Ogg page with the given packets. */
function oggPage(serial: number, packets: readonly Buffer[], granule: bigint, isFirst: boolean): Buffer {
  const lengths = packets.flatMap(({ length }) => [
    ...Array<number>(Math.floor(length / 255)).fill(255),
    length % 255,
  ]);
  const header = Buffer.alloc(27);
  header.write('OggS', 0, 'latin1');
  header.writeUInt8(isFirst ? 2 : 0, 5);
  header.writeBigInt64LE(granule, 6);
  header.writeUInt32LE(serial, 14);
  header.writeUInt8(lengths.length, 26);
  return Buffer.concat([header, Buffer.from(lengths), ...packets]);
}

const opusHead = Buffer.from('OpusHead\x01\x01\0\0\x80\xbb\0\0\0\0\0', 'latin1');
const opusTags = Buffer.from('OpusTags\0\0\0\0\0\0\0\0', 'latin1');
/** A single CELT frame of 20 ms; the audio bytes after the first are irrelevant. */
const opusPacket = (bytes: number): Buffer => Buffer.concat([Buffer.from([0xf8]), Buffer.alloc(bytes)]);

const opusStream = (serial: number, sizes: readonly number[], claimedGranule: bigint): Buffer[] => [
  oggPage(serial, [opusHead], 0n, true),
  oggPage(serial, [opusTags], 0n, false),
  ...Array.from({ length: Math.ceil(sizes.length / 50) }, (_, page) =>
    oggPage(serial, sizes.slice(page * 50, page * 50 + 50).map(opusPacket), claimedGranule, false),
  ),
];

test('duration of a FLAC never exceeds its bound, even with cheap silence and a false header', () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 16, max: 65_536 }), { minLength: 1, maxLength: 60 }),
      fc.constantFrom(8_000, 16_000, 44_100, 48_000),
      fc.double({ min: 0, max: 2, noNaN: true }),
      fc.integer({ min: 2, max: 40 }),
      (blocks, rate, lie, soundBytes) => {
        const samples = blocks.reduce((sum, block) => sum + block, 0);
        const file = flacFile(blocks, rate, Math.floor(samples * lie), soundBytes);
        const { boundMs, estimateMs } = audioLengthOf('flac', file);
        const actualMs = (samples / rate) * 1_000;
        expect(boundMs).toBeGreaterThanOrEqual(Math.floor(actualMs));
        expect(estimateMs).toBeGreaterThanOrEqual(Math.floor(actualMs * 0.9));
        expect(estimateMs).toBeLessThanOrEqual(boundMs);
      },
    ),
  );
});

test('duration of a valid FLAC equals that of its header to the sample', () => {
  const file = flacFile(Array<number>(100).fill(4_096), 16_000, 409_600, 3_000);
  expect(audioLengthOf('flac', file).estimateMs).toBe(25_600);
});

test('duration of an Ogg Opus file never exceeds its bound, even with several streams and false pages', () => {
  fc.assert(
    fc.property(
      fc.array(fc.array(fc.integer({ min: 0, max: 700 }), { minLength: 1, maxLength: 120 }), {
        minLength: 1,
        maxLength: 3,
      }),
      fc.integer({ min: 0, max: 1_000 }),
      (streams, claimedGranule) => {
        const file = Buffer.concat(
          streams.flatMap((sizes, serial) => opusStream(serial, sizes, BigInt(claimedGranule))),
        );
        const actualMs = streams.flat().length * 20;
        const { boundMs, estimateMs } = audioLengthOf('ogg', file);
        expect(boundMs).toBeGreaterThanOrEqual(actualMs);
        expect(estimateMs).toBeGreaterThanOrEqual(actualMs);
        expect(estimateMs).toBeLessThanOrEqual(boundMs);
      },
    ),
  );
});

test('packet split across pages counts once, with its own number of frames', () => {
  const packet = Buffer.concat([Buffer.from([0xfb, 3]), Buffer.alloc(508)]);
  const lengths = (page: Buffer, count: number) => page.writeUInt8(count, 26);
  const firstPage = oggPage(7, [packet.subarray(0, 255)], -1n, false);
  // The page ends within the packet: its final segment length is missing.
  const truncatedPage = Buffer.concat([firstPage.subarray(0, 28), firstPage.subarray(29)]);
  lengths(truncatedPage, 1);
  const secondPage = oggPage(7, [packet.subarray(255)], 2_880n, false);
  const file = Buffer.concat([
    oggPage(7, [opusHead], 0n, true),
    oggPage(7, [opusTags], 0n, false),
    truncatedPage,
    secondPage,
  ]);
  expect(audioLengthOf('ogg', file).estimateMs).toBe(60);
});

test('duration of a Vorbis file is at most half of its longest block per packet', () => {
  const header = Buffer.alloc(30);
  header.write('\x01vorbis', 0, 'latin1');
  header.writeUInt32LE(8_000, 12);
  header.writeUInt8(0xb8, 28);
  const page = (packets: readonly Buffer[], granule: bigint) => oggPage(1, packets, granule, false);
  const packets = Array.from({ length: 200 }, () => Buffer.alloc(3));
  const file = Buffer.concat([
    oggPage(1, [header], 0n, true),
    page([Buffer.from('\x03vorbis'), Buffer.from('\x05vorbis')], 0n),
    page(packets, 200n * 1_024n),
  ]);
  const { boundMs, estimateMs } = audioLengthOf('ogg', file);
  expect([boundMs, estimateMs]).toEqual([25_600, 25_600]);
});

test('endless frame markers are scanned in linear time', () => {
  // Quadratic work would take hours and fail by the test timeout.
  const noise = Buffer.alloc(25 * 1_024 * 1_024, Buffer.from([0xff, 0xf8, 0xc9, 0x08]));
  noise.write('fLaC', 0, 'latin1');
  expect(audioLengthOf('flac', noise).boundMs).toBeGreaterThan(0);
  const pages = Buffer.alloc(25 * 1_024 * 1_024, 'OggS');
  pages.write('OpusHead', 28, 'latin1');
  expect(audioLengthOf('ogg', pages).boundMs).toBeGreaterThan(0);
});
