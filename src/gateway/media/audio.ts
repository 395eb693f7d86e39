import { COUNT_CAP, type PriceRates, promptTokens, fault, type UsageReading, usageOf } from '../../kernel';
import type { CallFormFile } from '../../routing';
import type { AudioLength } from './audio-length';
import type { MultipartForm } from './multipart-form';

export interface Recording {
  readonly boundMs: number;
  readonly estimateMs: number;
  readonly inputBound: number;
  readonly inputEstimate: number;
  readonly outputBound: number;
}

const MAX_AUDIO_BYTES = 25 * 1024 * 1024;
/** Some suppliers charge a minimum, and all round up to a second. */
const MIN_CHARGED_MS = 10_000;
/** Tokens per second of audio: maximum of encoders, maximum of speech, and typical input. */
const MAX_INPUT_TOKENS_PER_SECOND = 50;
const MAX_OUTPUT_TOKENS_PER_SECOND = 16;
const TYPICAL_INPUT_TOKENS_PER_SECOND = 10;
/** Silence can be transcribed as a sentence or two that was never spoken. */
const MIN_OUTPUT_TOKENS = 256;
/** Usage above this multiple of the file's maximum length is ignored. */
const MAX_PLAUSIBLE_FACTOR = 10;

export function recordingOf({ fields }: MultipartForm, length: AudioLength | null): Recording {
  if (length === null) {
    throw fault('unsupported_media_type', {
      param: 'file',
      message: 'file must be a recording in WAV, MP3, M4A, MP4, FLAC, OGG or WebM.',
    });
  }
  const { boundMs, estimateMs } = length;
  if (boundMs >= COUNT_CAP) throw unmeasurableError();
  const seconds = Math.ceil(Math.max(boundMs, MIN_CHARGED_MS) / 1_000);
  const fieldBytes = fields.reduce((sum, [, value]) => sum + Buffer.byteLength(value), 0);
  return {
    boundMs: seconds * 1_000,
    estimateMs,
    inputBound: seconds * MAX_INPUT_TOKENS_PER_SECOND + fieldBytes,
    inputEstimate: Math.ceil((estimateMs / 1_000) * TYPICAL_INPUT_TOKENS_PER_SECOND + fieldBytes / 4),
    outputBound: seconds * MAX_OUTPUT_TOKENS_PER_SECOND + MIN_OUTPUT_TOKENS,
  };
}

export interface SoundTokens {
  readonly bound: number;
  readonly estimate: number;
}

export const NO_SOUND: SoundTokens = { bound: 0, estimate: 0 };

export const soundTokensOf = (lengths: readonly AudioLength[]): SoundTokens => ({
  bound: sumOf(lengths, ({ boundMs }) => boundMs * MAX_INPUT_TOKENS_PER_SECOND),
  estimate: sumOf(lengths, ({ estimateMs }) => estimateMs * TYPICAL_INPUT_TOKENS_PER_SECOND),
});

const sumOf = (lengths: readonly AudioLength[], milliTokens: (length: AudioLength) => number): number =>
  lengths.reduce((sum, length) => sum + Math.ceil(milliTokens(length) / 1_000), 0);

const unmeasurableError = () =>
  fault('invalid_request', {
    param: 'file',
    message:
      'The length of file cannot be told: its tables contradict one another, or its sound is packed or encrypted by its container.',
  });

export function getRecordingFile({ files }: MultipartForm): CallFormFile {
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
  if (file.bytes.length <= MAX_AUDIO_BYTES) return file;
  const maxBytes = MAX_AUDIO_BYTES.toLocaleString('en');
  throw fault('request_too_large', { param: 'file', message: `file may have at most ${maxBytes} bytes.` });
}

/**
 * Quantity to charge for a recording. Estimated if the report is missing, implausible, or not in the unit of the price,
 * any of which would make the response free.
 */
export function chargedAudio(
  reading: UsageReading,
  recording: Recording,
  price: PriceRates,
  textBytes: number,
): UsageReading {
  const isPlausible =
    reading.kind === 'ok' && reading.usage.audioMilliseconds <= MAX_PLAUSIBLE_FACTOR * recording.boundMs;
  const reported = isPlausible ? reading.usage : usageOf({});
  const isPricedByMinute = price.perMinuteNano > 0n;
  if (isPricedByMinute ? reported.audioMilliseconds > 0 : promptTokens(reported) > 0) return reading;
  const { source: _source, ...counts } = reported;
  const ignored = ignoredIn(reading);
  const estimated = isPricedByMinute
    ? { audioMilliseconds: recording.estimateMs }
    : { inputTokens: recording.inputEstimate, outputTokens: Math.ceil(textBytes / 4) };
  const usage = usageOf({ ...counts, ...estimated }, 'estimated');
  return { kind: 'ok', usage: ignored === undefined ? usage : { ...usage, ignored } };
}

function ignoredIn(reading: UsageReading): readonly string[] | undefined {
  if (reading.kind === 'ok') return reading.usage.ignored;
  return reading.kind === 'invalid' ? [reading.field] : undefined;
}
