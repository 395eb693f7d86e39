import { type Fault, fault } from '../../kernel';

/** The limit of a text where the catalogue does not know the model's. */
const USUAL_MOST_TOKENS = 2_048;
/** No vocabulary in use has a longer token. */
const LONGEST_TOKEN_BYTES = 128;
/** A word of more letters is in no vocabulary. */
const MAX_WORD_LETTERS = 40;
/** Averages that tokenizers in use do not reach, unless a text repeats one long token (ADR 28). */
const MAX_LETTERS_PER_TOKEN = 10;
const MAX_HAN_PER_TOKEN = 2.4;
const SPACE = 0x20;

/** Why a text to embed is too long; null where only the supplier can tell. A list of tokens is counted. */
export function tooLongToEmbed(input: unknown, contextTokens: number | null): Fault | null {
  const most = contextTokens ?? USUAL_MOST_TOKENS;
  const isList = Array.isArray(input) && typeof input[0] !== 'number';
  const texts: readonly unknown[] = isList ? input : [input];
  const at = texts.findIndex((text) => leastTokens(text, most) > most);
  if (at === -1) return null;
  const param = isList ? `input[${at}]` : 'input';
  return fault('context_length_exceeded', {
    param,
    message: `${param} is longer than the ${most.toLocaleString('en')} tokens that the model takes of one text.`,
  });
}

function leastTokens(text: unknown, most: number): number {
  if (Array.isArray(text)) return text.length;
  // Neither bound of a shorter text can be beyond it: a character has at most three bytes.
  if (typeof text !== 'string' || text.length <= most) return 0;
  return Math.max(tokensOfWords(text), Math.ceil(Buffer.byteLength(text) / LONGEST_TOKEN_BYTES));
}

/**
 * No token holds a space between words, so each word with a letter or digit of ASCII has one or more: some tokenizers
 * leave out what has none.
 */
function tokensOfWords(text: string): number {
  let tokens = 0;
  let letters = 0;
  let han = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (isLetterOrDigit(code)) letters += 1;
    else if (isHan(code)) han += 1;
    else if (code <= SPACE) {
      tokens += tokensOfWord(letters);
      letters = 0;
    }
  }
  return tokens + tokensOfWord(letters) + Math.floor(han / MAX_HAN_PER_TOKEN);
}

const tokensOfWord = (letters: number): number =>
  letters > MAX_WORD_LETTERS ? Math.ceil(letters / MAX_LETTERS_PER_TOKEN) : Math.min(letters, 1);

const isLetterOrDigit = (code: number): boolean =>
  (code >= 0x61 && code <= 0x7a) || (code >= 0x41 && code <= 0x5a) || (code >= 0x30 && code <= 0x39);

const isHan = (code: number): boolean => code >= 0x3400 && code <= 0x9fff;
