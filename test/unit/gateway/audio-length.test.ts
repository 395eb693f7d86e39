import { audioKindOf, audioLengthOf } from '../../../src/gateway/media/audio-length';
import { mp3Of, wavOf } from '../../support/recordings';

const lengthOf = (file: Buffer) => {
  const kind = audioKindOf(file);
  if (kind === null) throw new Error('not known');
  return { kind, ...audioLengthOf(kind, file) };
};

describe('the length of a recording', () => {
  test('is exact for plain samples, and the bound is no more', () => {
    expect(lengthOf(wavOf({ seconds: 3 }))).toMatchObject({ kind: 'wav', estimateMs: 3_000, boundMs: 3_000 });
  });

  test('of a recorder that wrote its head first is told by what came', () => {
    const file = wavOf({ seconds: 2, dataSize: 0xffff_ffff });
    expect(lengthOf(file).estimateMs).toBeCloseTo(2_000, -2);
  });

  test('is told by every frame of an MP3, whatever the first one claims', () => {
    expect(lengthOf(mp3Of({ frames: 100 })).estimateMs).toBe(2_613);
    expect(lengthOf(mp3Of({ frames: 100, told: 110 })).estimateMs).toBe(2_613);
    expect(lengthOf(mp3Of({ frames: 1_000, told: 1 })).estimateMs).toBeGreaterThan(26_000);
    // A first frame of a higher rate than all others.
    const mixed = mp3Of({ frames: 1_000 });
    mixed.writeUInt8(0xe0, 2);
    expect(lengthOf(mixed).estimateMs).toBeGreaterThan(25_500);
  });

  test('of a WAV with a head that claims too fast a rate is more than nothing', () => {
    expect(lengthOf(wavOf({ seconds: 60, claimedRate: 0xffff_ffff })).estimateMs).toBeGreaterThan(0);
  });

  test('of packed samples in a WAV does not follow the rate that its head claims', () => {
    const file = wavOf({ seconds: 30, dataSize: 10 });
    file.writeUInt16LE(2, 20);
    file.writeUInt32LE(1_000_000, 28);
    expect(lengthOf(file).estimateMs).toBeGreaterThan(30_000);
  });

  test('of nothing but marks of frames takes no longer than a look', () => {
    expect(lengthOf(Buffer.alloc(4_000_000, 0xff)).estimateMs).toBeGreaterThan(0);
  });

  test.each([
    ['a short wav', Buffer.from('RIFF\0\0\0\0WAVEfmt ', 'latin1')],
    ['a wav without sound', Buffer.from('RIFF\0\0\0\0WAVE', 'latin1')],
    ['a short flac', Buffer.from('fLaC')],
    ['a short ogg', Buffer.from('OggS')],
    ['a short mp4', Buffer.from('\0\0\0\x20ftypM4A ', 'latin1')],
    ['a short mp3', Buffer.from([0xff, 0xfb])],
    ['tags without sound', Buffer.from('ID3\x04\0\0\x7f\x7f\x7f\x7f', 'latin1')],
    ['a webm', Buffer.concat([Buffer.from([0x1a, 0x45, 0xdf, 0xa3]), Buffer.alloc(60_000)])],
  ])('of %s is guessed from its size', (_what, file) => {
    const { estimateMs, boundMs } = lengthOf(file);
    expect(estimateMs).toBeGreaterThan(0);
    expect(boundMs).toBeGreaterThanOrEqual(estimateMs);
  });

  test.each(['', 'MZ', '<html>', '{"model":"x"}', '%PDF-1.7', '\x7fELF', 'PK\x03\x04'])(
    'is nothing that %j has',
    (text) => {
      expect(audioKindOf(Buffer.from(text, 'latin1'))).toBeNull();
    },
  );
});
