import { COUNT_CAP, type PriceRates, promptTokens, fault, type UsageReading, usageOf } from '../../kernel';
import type { FormFile } from '../../routing';
import type { AudioLength } from './audio-length';
import type { Form } from './form';

/** A recording to be transcribed, and what that can cost. */
export interface Recording {
  /** The most it can be charged for, and what is charged when the supplier reports no usage. */
  readonly boundMs: number;
  readonly estimateMs: number;
  readonly inputBound: number;
  readonly inputEstimate: number;
  readonly outputBound: number;
}

const MOST_AUDIO_BYTES = 25 * 1024 * 1024;
/** Some suppliers charge for so much at least, and all round up to a second. */
const LEAST_CHARGED_MS = 10_000;
/** Tokens of a second of sound: the most an encoder makes, the most a person speaks, and what is usual. */
const MOST_TOKENS_IN = 50;
const MOST_TOKENS_OUT = 16;
const USUAL_TOKENS_IN = 10;
/** Silence may come out as a sentence or two that was never said. */
const LEAST_TOKENS_OUT = 256;
/** A report of so many times the longest that the file can be is no report. */
const ABSURD_FACTOR = 10;

/** `file` has been measured, which told its length; null if it is no recording. */
export function recordingOf({ fields }: Form, length: AudioLength | null): Recording {
  if (length === null) {
    throw fault('unsupported_media_type', {
      param: 'file',
      message: 'file must be a recording in WAV, MP3, M4A, MP4, FLAC, OGG or WebM.',
    });
  }
  const { boundMs, estimateMs } = length;
  if (boundMs >= COUNT_CAP) throw unmeasurable();
  const seconds = Math.ceil(Math.max(boundMs, LEAST_CHARGED_MS) / 1_000);
  const fieldBytes = fields.reduce((sum, [, value]) => sum + Buffer.byteLength(value), 0);
  return {
    boundMs: seconds * 1_000,
    estimateMs,
    inputBound: seconds * MOST_TOKENS_IN + fieldBytes,
    inputEstimate: Math.ceil((estimateMs / 1_000) * USUAL_TOKENS_IN + fieldBytes / 4),
    outputBound: seconds * MOST_TOKENS_OUT + LEAST_TOKENS_OUT,
  };
}

/** Tokens that the recordings within a conversation take. */
export interface SoundTokens {
  readonly bound: number;
  readonly estimate: number;
}

export const NO_SOUND: SoundTokens = { bound: 0, estimate: 0 };

export const soundTokensOf = (lengths: readonly AudioLength[]): SoundTokens => ({
  bound: sumOf(lengths, ({ boundMs }) => boundMs * MOST_TOKENS_IN),
  estimate: sumOf(lengths, ({ estimateMs }) => estimateMs * USUAL_TOKENS_IN),
});

const sumOf = (lengths: readonly AudioLength[], milliTokens: (length: AudioLength) => number): number =>
  lengths.reduce((sum, length) => sum + Math.ceil(milliTokens(length) / 1_000), 0);

const unmeasurable = () =>
  fault('invalid_request', {
    param: 'file',
    message:
      'The length of file cannot be told: its tables contradict one another, or its sound is packed or encrypted by its container.',
  });

export function fileIn({ files }: Form): FormFile {
  const stray = files.find(({ field }) => field !== 'file');
  if (stray !== undefined) {
    throw fault('invalid_request', {
      param: stray.field,
      message: `${stray.field} must not be a file; the recording is sent as file.`,
    });
  }
  const [file] = files;
  if (files.length !== 1 || file === undefined || file.bytes.length === 0) {
    throw fault('invalid_request', { param: 'file', message: 'file must be one recording, and not empty.' });
  }
  if (file.bytes.length <= MOST_AUDIO_BYTES) return file;
  const most = MOST_AUDIO_BYTES.toLocaleString('en');
  throw fault('request_too_large', { param: 'file', message: `file may have at most ${most} bytes.` });
}

/**
 * The sold quantity of a recording. A report without the unit of the price, an implausible one, or none (as for plain
 * text) would make the answer free. Then the quantity is estimated.
 */
export function soldAudio(
  reading: UsageReading,
  recording: Recording,
  price: PriceRates,
  textBytes: number,
): UsageReading {
  const isBelievable =
    reading.kind === 'ok' && reading.usage.audioMilliseconds <= ABSURD_FACTOR * recording.boundMs;
  const reported = isBelievable ? reading.usage : usageOf({});
  const isByMinute = price.perMinuteNano > 0n;
  if (isByMinute ? reported.audioMilliseconds > 0 : promptTokens(reported) > 0) return reading;
  const { source: _source, ...counts } = reported;
  const ignored = ignoredIn(reading);
  const estimated = isByMinute
    ? { audioMilliseconds: recording.estimateMs }
    : { inputTokens: recording.inputEstimate, outputTokens: Math.ceil(textBytes / 4) };
  const usage = usageOf({ ...counts, ...estimated }, 'estimated');
  return { kind: 'ok', usage: ignored === undefined ? usage : { ...usage, ignored } };
}

function ignoredIn(reading: UsageReading): readonly string[] | undefined {
  if (reading.kind === 'ok') return reading.usage.ignored;
  return reading.kind === 'invalid' ? [reading.field] : undefined;
}
