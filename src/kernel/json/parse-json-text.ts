import { readJsonText } from './json-reader';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;

/**
 * Replaces `JSON.parse` for texts from outside: from Node 23 on, V8 might misread an escaped name (nodejs/node#63785).
 * Texts with such names go to our own parser.
 */
export const parseJsonText = (text: string): unknown =>
  hasEscapedName(text) ? readJsonText(text) : (JSON.parse(text) as unknown);

export function hasEscapedName(text: string): boolean {
  if (!text.includes('\\')) return false;
  let open = text.indexOf('"');
  while (open !== -1) {
    const close = endOfString(text, open);
    if (close === -1) return false;
    const next = skipSpace(text, close + 1);
    if (text.charCodeAt(next) === COLON && hasBackslash(text, open + 1, close)) return true;
    open = text.indexOf('"', next);
  }
  return false;
}

/** Up to this distance a loop is quicker than a search, even if quotation marks are close together. */
const LOOP_CHARACTERS = 24;

/** Returns the position of the closing quotation mark; -1 if there is none. */
function endOfString(text: string, open: number): number {
  let at = open + 1;
  for (;;) {
    const near = at + LOOP_CHARACTERS;
    while (at < near && text.charCodeAt(at) !== QUOTE) at += 1;
    if (at === near) at = text.indexOf('"', near);
    if (at === -1 || at >= text.length) return -1;
    if (!isEscaped(text, at, open)) return at;
    at += 1;
  }
}

function isEscaped(text: string, quote: number, open: number): boolean {
  let before = quote - 1;
  while (before > open && text.charCodeAt(before) === BACKSLASH) before -= 1;
  return (quote - before) % 2 === 0;
}

function hasBackslash(text: string, from: number, to: number): boolean {
  for (let at = from; at < to; at += 1) if (text.charCodeAt(at) === BACKSLASH) return true;
  return false;
}

function skipSpace(text: string, from: number): number {
  let at = from;
  while (text.charCodeAt(at) <= 0x20) at += 1;
  return at;
}

/** True if this V8 has the bug; the workaround can go when no supported version has it. */
export function hasJsonParseBug(): boolean {
  JSON.parse('{"json_parse_probe":0,"\\\\u0061pi":0}');
  const probed = JSON.parse('{"json_parse_probe":0,"\\u0061pi_base":0}') as object;
  return !Object.hasOwn(probed, 'api_base');
}
