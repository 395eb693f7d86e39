import { readJsonText } from './json-reader';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;

/**
 * Texts from outside are read by this in place of `JSON.parse`. From Node 23 on V8 may read an escaped name
 * as a name of an earlier document (nodejs/node#63785). Then the validated body is not the one that was sent.
 * Texts with such names go to our own parser.
 */
export const parseJsonText = (text: string): unknown =>
  hasEscapedName(text) ? readJsonText(text) : (JSON.parse(text) as unknown);

/** The text has the name of a member that is written with a backslash. */
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

/** Up to here a loop is quicker than a search, also where quotation marks follow close upon one another. */
const NEAR = 24;

/** It returns where the closing quotation mark stands; -1 without one. */
function endOfString(text: string, open: number): number {
  let at = open + 1;
  for (;;) {
    const near = at + NEAR;
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

/** This V8 has the bug; the workaround can go when no supported version has it. */
export function isJsonParseFaulty(): boolean {
  JSON.parse('{"json_parse_probe":0,"\\\\u0061pi":0}');
  const probed = JSON.parse('{"json_parse_probe":0,"\\u0061pi_base":0}') as object;
  return !Object.hasOwn(probed, 'api_base');
}
