import { type Fault, fault } from '../../kernel';

const DEFAULT_MAX_TOKENS = 2_048;
/** Longer than any token of a vocabulary in use. */
const MAX_TOKEN_BYTES = 128;
const MAX_WORD_LETTERS = 40;
/** Averages that tokenizers in use do not reach, unless a text repeats one long token (ADR 28). */
const MAX_LETTERS_PER_TOKEN = 10;
const MAX_HAN_PER_TOKEN = 2.4;
const SPACE = 0x20;

/** Error for a text too long to embed; null if only the supplier can tell. Token lists are counted exactly. */
export function embeddingLengthError(input: unknown, contextTokens: number | null): Fault | null {
  const maxTokens = contextTokens ?? DEFAULT_MAX_TOKENS;
  const isList = Array.isArray(input) && typeof input[0] !== 'number';
  const texts: readonly unknown[] = isList ? input : [input];
  const index = texts.findIndex((text) => minTokens(text, maxTokens) > maxTokens);
  if (index === -1) return null;
  const param = isList ? `input[${index}]` : 'input';
  return fault('context_length_exceeded', {
    param,
    message: `${param} is longer than the ${maxTokens.toLocaleString('en')} tokens that the model takes of one text.`,
  });
}

function minTokens(text: unknown, maxTokens: number): number {
  if (Array.isArray(text)) return text.length;
  // A shorter text cannot exceed the limit by either count, as a character has at most three bytes.
  if (typeof text !== 'string' || text.length <= maxTokens) return 0;
  return Math.max(minTokensOfWords(text), Math.ceil(Buffer.byteLength(text) / MAX_TOKEN_BYTES));
}

/**
 * No token contains a space between words, so each word with an ASCII letter or digit has at least one. Some tokenizers
 * drop other words.
 */
function minTokensOfWords(text: string): number {
  let tokens = 0;
  let letters = 0;
  let han = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (isLetterOrDigit(code)) letters += 1;
    else if (isHan(code)) han += 1;
    else if (code <= SPACE) {
      tokens += minTokensOfWord(letters);
      letters = 0;
    }
  }
  return tokens + minTokensOfWord(letters) + Math.floor(han / MAX_HAN_PER_TOKEN);
}

const minTokensOfWord = (letters: number): number =>
  letters > MAX_WORD_LETTERS ? Math.ceil(letters / MAX_LETTERS_PER_TOKEN) : Math.min(letters, 1);

const isLetterOrDigit = (code: number): boolean =>
  (code >= 0x61 && code <= 0x7a) || (code >= 0x41 && code <= 0x5a) || (code >= 0x30 && code <= 0x39);

const isHan = (code: number): boolean => code >= 0x3400 && code <= 0x9fff;
