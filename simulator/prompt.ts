import { randomFrom } from './hash';

// Every word has three UTF-16 units, so a word with its space is exactly one token.
const articles = 'the our his her one any'.split(' ');
const adjectives = 'big old new red shy sad wet dry odd sly raw tan icy hot'.split(' ');
const nouns =
  'ant ape bat bee box boy cat cow cub cup dog elf elk emu ewe fox gnu hen jay kid man owl pig pup ram rat sow yak'.split(
    ' ',
  );
const verbs = 'saw met led fed hid got had hit ate won let bit'.split(' ');
const joints = 'and but yet nor for'.split(' ');
/** Word classes of an endless sentence that resembles English. */
const sentence = [articles, adjectives, nouns, verbs, articles, adjectives, nouns, joints];
const unicodeWords = ['日本語', 'né!', '😀é', 'ñçü', 'Ωβγ', 'при', '한국어', 'ß→x', '🚀!', 'שלו'];

export type PromptWords = 'plain' | 'unicode';

/** Returns `count` pieces of one token each, selected by the seed. */
export function words(seed: number, count: number, kind: PromptWords): string[] {
  const next = randomFrom(seed);
  const pieces = new Array<string>(count);
  for (let index = 0; index < count; index++) {
    const list = kind === 'plain' ? (sentence[index % sentence.length] ?? nouns) : unicodeWords;
    const word = list[Math.floor(next() * list.length)] ?? '';
    pieces[index] = index === 0 ? word : ` ${word}`;
  }
  return pieces;
}

/** Splits a text into pieces of at most `size` UTF-16 units, never inside a character. */
export function piecesOf(text: string, size: number): string[] {
  const pieces: string[] = [];
  for (let start = 0; start < text.length;) {
    let end = Math.min(start + size, text.length);
    const last = text.charCodeAt(end - 1);
    if (last >= 0xd800 && last <= 0xdbff && end - start > 1) end--;
    pieces.push(text.slice(start, end));
    start = end;
  }
  return pieces;
}

const directivePattern = /\[\[([a-z-]+)(?:=([\s\S]*?))?\]\]/g;

/** Directives in double brackets within a prompt; see README.md for the list. */
export class Directives {
  private readonly valuesByName = new Map<string, string[]>();

  constructor(text: string) {
    if (!text.includes('[[')) return;
    for (const [, name = '', value = ''] of text.matchAll(directivePattern)) {
      this.valuesByName.set(name, [...(this.valuesByName.get(name) ?? []), value]);
    }
  }

  get size(): number {
    return this.valuesByName.size;
  }

  has(name: string): boolean {
    return this.valuesByName.has(name);
  }

  all(name: string): readonly string[] {
    return this.valuesByName.get(name) ?? [];
  }

  text(name: string): string | undefined {
    return this.valuesByName.get(name)?.[0];
  }

  number(name: string): number | undefined {
    const value = Number.parseInt(this.text(name) ?? '', 10);
    return Number.isNaN(value) || value < 0 ? undefined : value;
  }
}
