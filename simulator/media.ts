/** Image of a single pixel, 8-bit RGB. */
export const smallPng = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGMwTpsJAAICATNWh+JUAAAAAElFTkSuQmCC',
  'base64',
);

const SAMPLE_RATE = 8000;

/** Creates a 440 Hz tone, 16-bit mono. */
function tone(milliseconds: number): Buffer {
  const samples = Math.floor((SAMPLE_RATE * milliseconds) / 1000);
  const bytes = Buffer.alloc(samples * 2);
  for (let index = 0; index < samples; index++) {
    bytes.writeInt16LE(Math.round(8000 * Math.sin((2 * Math.PI * 440 * index) / SAMPLE_RATE)), index * 2);
  }
  return bytes;
}

function wavOf(samples: Buffer): Buffer {
  const head = Buffer.alloc(44);
  head.write('RIFF', 0, 'latin1');
  head.writeUInt32LE(36 + samples.length, 4);
  head.write('WAVEfmt ', 8, 'latin1');
  head.writeUInt32LE(16, 16);
  head.writeUInt16LE(1, 20);
  head.writeUInt16LE(1, 22);
  head.writeUInt32LE(SAMPLE_RATE, 24);
  head.writeUInt32LE(SAMPLE_RATE * 2, 28);
  head.writeUInt16LE(2, 32);
  head.writeUInt16LE(16, 34);
  head.write('data', 36, 'latin1');
  head.writeUInt32LE(samples.length, 40);
  return Buffer.concat([head, samples]);
}

/** Four silent MPEG-1 layer III frames, 128 kbit/s at 44.1 kHz: 417 bytes each. */
function silentMp3(): Buffer {
  const frame = Buffer.alloc(417);
  frame.writeUInt32BE(0xfffb9000);
  return Buffer.concat([frame, frame, frame, frame]);
}

const samples = tone(100);

export interface Sound {
  readonly contentType: string;
  readonly bytes: Buffer;
}

/** Formats of speech output; wav, pcm and mp3 are playable, the others have only their magic number. */
export const sounds: ReadonlyMap<string, Sound> = new Map([
  ['mp3', { contentType: 'audio/mpeg', bytes: silentMp3() }],
  ['wav', { contentType: 'audio/wav', bytes: wavOf(samples) }],
  ['pcm', { contentType: 'audio/pcm', bytes: samples }],
  ['opus', { contentType: 'audio/opus', bytes: Buffer.from('OggS\u0000'.padEnd(64, '\u0000'), 'latin1') }],
  ['flac', { contentType: 'audio/flac', bytes: Buffer.from('fLaC'.padEnd(64, '\u0000'), 'latin1') }],
  ['aac', { contentType: 'audio/aac', bytes: Buffer.from('\u00ff\u00f1'.padEnd(64, '\u0000'), 'latin1') }],
]);

/** Returns the duration of a WAV file by its header; other formats count as 16,000 bytes per second. */
export function secondsOf(file: Buffer): number {
  const isWav = file.length >= 44 && file.toString('latin1', 0, 4) === 'RIFF';
  const rate = isWav ? file.readUInt32LE(28) : 16_000;
  return (isWav ? file.length - 44 : file.length) / Math.max(1, rate);
}
