import { type Fault, fault } from '../../kernel';

/** The limit of a text where the catalogue does not know the model's. */
const USUAL_MOST_TOKENS = 2_048;
/** No vocabulary in use has a longer token. */
const LONGEST_TOKEN_BYTES = 128;
const SPACE = 0x20;

/**
 * A text to embed is certainly too long for this reason; null where only the supplier can tell. A list of
 * tokens is counted. A text has at least one token for each word, since none holds a space between words, and
 * one for each 128 bytes.
 */
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
  return Math.max(wordsIn(text), Math.ceil(Buffer.byteLength(text) / LONGEST_TOKEN_BYTES));
}

/** Words with a letter or digit of ASCII in them: some tokenizers leave out what has none. */
function wordsIn(text: string): number {
  let words = 0;
  let isCounted = false;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code <= SPACE) isCounted = false;
    else if (!isCounted && isLetterOrDigit(code)) {
      isCounted = true;
      words += 1;
    }
  }
  return words;
}

const isLetterOrDigit = (code: number): boolean =>
  (code >= 0x61 && code <= 0x7a) || (code >= 0x41 && code <= 0x5a) || (code >= 0x30 && code <= 0x39);
