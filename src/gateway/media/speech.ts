import {
  type JsonFields,
  MINUTE_MS,
  type PriceRates,
  resolveRates,
  usageOf,
  type UsageReading,
} from '../../kernel';
import { speechUsageByCharacters } from '../../protocol';
import { type Recording, chargedAudio } from './audio';
import { audioKindOf, audioLengthOf } from './audio-length';
import { textBound, textEstimate } from './input-size';

export interface Speech {
  readonly characters: number;
  /** Characters or tokens, whichever are more. */
  readonly inputBound: number;
  readonly inputTokens: number;
  readonly outputBound: number;
  readonly boundMs: number;
  readonly estimateMs: number;
  readonly format: string;
}

/** The vendor's own figure for audio that it sells by tokens. */
const TOKENS_PER_MINUTE = 1_250;
/** A character can be a syllable, which takes a slow voice half a second; typical are 15 characters per second. */
const MAX_MS_PER_CHARACTER = 500;
const TYPICAL_MS_PER_CHARACTER = 67;
const MAX_PAUSES_MS = 30_000;
/** Suppliers send `pcm` as two-byte samples at 24,000 Hz. */
const PCM_BYTES_PER_MS = 48;

export function speechIn(body: JsonFields, bytes: number): Speech {
  const { inputTokens: characters } = speechUsageByCharacters(textOf(body.input));
  const pace = typeof body.speed === 'number' ? body.speed : 1;
  const boundMs = Math.ceil((characters * MAX_MS_PER_CHARACTER + MAX_PAUSES_MS) / Math.min(1, pace));
  return {
    characters,
    inputBound: Math.max(characters, textBound(bytes)),
    inputTokens: textEstimate(Buffer.byteLength(textOf(body.input) + textOf(body.instructions))),
    outputBound: tokensIn(boundMs),
    boundMs,
    estimateMs: Math.ceil((characters * TYPICAL_MS_PER_CHARACTER) / pace),
    format: textOf(body.response_format),
  };
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

const tokensIn = (milliseconds: number): number => Math.ceil((milliseconds * TOKENS_PER_MINUTE) / MINUTE_MS);

/**
 * Charges estimated tokens of text and audio if the price has an audio rate, otherwise characters and priced minutes.
 * Counted here, as no supplier reports the usage of speech.
 */
export function chargedSpeech(speech: Speech, price: PriceRates, sound: Buffer | null): UsageReading {
  const isByToken = resolveRates(price).audioOutputTokens > 0n;
  const isByMinute = price.perMinuteNano > 0n;
  const milliseconds = isByToken || isByMinute ? lengthOf(speech, sound) : 0;
  const counts = {
    inputTokens: isByToken ? speech.inputTokens : speech.characters,
    audioOutputTokens: isByToken ? tokensIn(milliseconds) : 0,
    audioMilliseconds: isByMinute ? milliseconds : 0,
  };
  return { kind: 'ok', usage: usageOf(counts, isByToken || isByMinute ? 'estimated' : 'supplier') };
}

function lengthOf({ format, estimateMs }: Speech, sound: Buffer | null): number {
  if (sound === null) return estimateMs;
  if (format === 'pcm') return Math.ceil(sound.length / PCM_BYTES_PER_MS);
  return audioLengthOf(audioKindOf(sound) ?? 'webm', sound).estimateMs;
}

/** Applies the price's unit to audio input or output; any other response keeps its reported usage. */
export function chargedAudioUsage(
  reported: UsageReading,
  { recording, speech }: { readonly recording: Recording | null; readonly speech: Speech | null },
  price: PriceRates,
  { sound, textBytes }: { readonly sound: Buffer | null; readonly textBytes: () => number },
): UsageReading {
  if (recording !== null) return chargedAudio(reported, recording, price, textBytes());
  return speech === null ? reported : chargedSpeech(speech, price, sound);
}
