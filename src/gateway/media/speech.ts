import {
  type JsonFields,
  MINUTE_MS,
  type PriceRates,
  resolveRates,
  usageOf,
  type UsageReading,
} from '../../kernel';
import { speechUsageByCharacters } from '../../protocol';
import { type Recording, soldAudio } from './audio';
import { audioKindOf, audioLengthOf } from './audio-length';
import { textBound, textEstimate } from './input-size';

/** A text to be spoken, and what that can cost. */
export interface Speech {
  readonly characters: number;
  /** Characters or tokens, whichever are more. */
  readonly inputBound: number;
  readonly inputTokens: number;
  readonly outputBound: number;
  /** The longest that it can sound, and about how long it does. */
  readonly boundMs: number;
  readonly estimateMs: number;
  readonly format: string;
}

/** The vendor's own figure for the sound that it sells by tokens. */
const TOKENS_PER_MINUTE = 1_250;
/** A character can be a syllable, and a slow voice takes half a second for one; usual are fifteen characters a second. */
const MOST_MS_PER_CHARACTER = 500;
const USUAL_MS_PER_CHARACTER = 67;
const PAUSES_MS = 30_000;
/** Suppliers send `pcm` in samples of two bytes, 24,000 a second. */
const PCM_BYTES_PER_MS = 48;

export function speechIn(body: JsonFields, bytes: number): Speech {
  const { inputTokens: characters } = speechUsageByCharacters(textOf(body.input));
  const pace = typeof body.speed === 'number' ? body.speed : 1;
  const boundMs = Math.ceil((characters * MOST_MS_PER_CHARACTER + PAUSES_MS) / Math.min(1, pace));
  return {
    characters,
    inputBound: Math.max(characters, textBound(bytes)),
    inputTokens: textEstimate(Buffer.byteLength(textOf(body.input) + textOf(body.instructions))),
    outputBound: tokensIn(boundMs),
    boundMs,
    estimateMs: Math.ceil((characters * USUAL_MS_PER_CHARACTER) / pace),
    format: textOf(body.response_format),
  };
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

const tokensIn = (milliseconds: number): number => Math.ceil((milliseconds * TOKENS_PER_MINUTE) / MINUTE_MS);

/**
 * No supplier reports what a whole answer of sound used. Where the price has a rate for sound, tokens are charged:
 * those of the text by its size, those of the sound by its length. Otherwise it is the characters of the text, which
 * are known exactly, and the minutes of the sound where these have a price.
 */
export function soldSpeech(speech: Speech, price: PriceRates, sound: Buffer | null): UsageReading {
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

/** Sound, heard or made, is sold as the price says; any other answer is what its supplier reports. */
export function soldSound(
  reported: UsageReading,
  { recording, speech }: { readonly recording: Recording | null; readonly speech: Speech | null },
  price: PriceRates,
  { sound, textBytes }: { readonly sound: Buffer | null; readonly textBytes: () => number },
): UsageReading {
  if (recording !== null) return soldAudio(reported, recording, price, textBytes());
  return speech === null ? reported : soldSpeech(speech, price, sound);
}
