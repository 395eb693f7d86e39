import { audioKindOf, audioLengthOf } from '../../../src/gateway/media/audio-length';
import { mp3Of, wavOf } from '../../support/recordings';

const lengthOf = (file: Buffer) => {
  const kind = audioKindOf(file);
  if (kind === null) throw new Error('not known');
  return { kind, ...audioLengthOf(kind, file) };
};

describe('Audio duration', () => {
  test('is exact for uncompressed samples, and so is the bound', () => {
    expect(lengthOf(wavOf({ seconds: 3 }))).toMatchObject({ kind: 'wav', estimateMs: 3_000, boundMs: 3_000 });
  });

  test('follows the received bytes when the recorder wrote its header first', () => {
    const file = wavOf({ seconds: 2, dataSize: 0xffff_ffff });
    expect(lengthOf(file).estimateMs).toBeCloseTo(2_000, -2);
  });

  test('counts every frame of an MP3 regardless of the first header', () => {
    expect(lengthOf(mp3Of({ frames: 100 })).estimateMs).toBe(2_613);
    expect(lengthOf(mp3Of({ frames: 100, claimedFrames: 110 })).estimateMs).toBe(2_613);
    expect(lengthOf(mp3Of({ frames: 1_000, claimedFrames: 1 })).estimateMs).toBeGreaterThan(26_000);
    // The first frame claims a higher bit rate than all others.
    const mixedFile = mp3Of({ frames: 1_000 });
    mixedFile.writeUInt8(0xe0, 2);
    expect(lengthOf(mixedFile).estimateMs).toBeGreaterThan(25_500);
  });

  test('duration is above zero for a WAV whose header claims too high a rate', () => {
    expect(lengthOf(wavOf({ seconds: 60, claimedRate: 0xffff_ffff })).estimateMs).toBeGreaterThan(0);
  });

  test('duration of compressed WAV samples does not follow the rate in the header', () => {
    const file = wavOf({ seconds: 30, dataSize: 10 });
    file.writeUInt16LE(2, 20);
    file.writeUInt32LE(1_000_000, 28);
    expect(lengthOf(file).estimateMs).toBeGreaterThan(30_000);
  });

  test('duration of a file of frame markers only is computed quickly', () => {
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
  ])('duration of %s is estimated from its size', (_what, file) => {
    const { estimateMs, boundMs } = lengthOf(file);
    expect(estimateMs).toBeGreaterThan(0);
    expect(boundMs).toBeGreaterThanOrEqual(estimateMs);
  });

  test.each(['', 'MZ', '<html>', '{"model":"x"}', '%PDF-1.7', '\x7fELF', 'PK\x03\x04'])(
    'audio kind of %j is null',
    (text) => {
      expect(audioKindOf(Buffer.from(text, 'latin1'))).toBeNull();
    },
  );
});
