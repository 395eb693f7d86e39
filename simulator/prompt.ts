import { randomFrom } from './hash';

// Every word is three UTF-16 units, so a word with its space is exactly one token.
const articles = 'the our his her one any'.split(' ');
const adjectives = 'big old new red shy sad wet dry odd sly raw tan icy hot'.split(' ');
const nouns =
  'ant ape bat bee box boy cat cow cub cup dog elf elk emu ewe fox gnu hen jay kid man owl pig pup ram rat sow yak'.split(
    ' ',
  );
const verbs = 'saw met led fed hid got had hit ate won let bit'.split(' ');
const joints = 'and but yet nor for'.split(' ');
/** The words of a sentence without end. It says nothing, but it reads like English. */
const sentence = [articles, adjectives, nouns, verbs, articles, adjectives, nouns, joints];
const unicodeWords = ['日本語', 'né!', '😀é', 'ñçü', 'Ωβγ', 'при', '한국어', 'ß→x', '🚀!', 'שלו'];

export type PromptWords = 'plain' | 'unicode';

/** `count` pieces, one token each, chosen by the seed. */
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

/** Cuts a text into pieces of at most `size` UTF-16 units, never through a character. */
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

/** The prompt asks this of the simulator in double brackets; see README.md for the list. */
export class Directives {
  private readonly found = new Map<string, string[]>();

  constructor(text: string) {
    if (!text.includes('[[')) return;
    for (const [, name = '', value = ''] of text.matchAll(directivePattern)) {
      this.found.set(name, [...(this.found.get(name) ?? []), value]);
    }
  }

  get size(): number {
    return this.found.size;
  }

  has(name: string): boolean {
    return this.found.has(name);
  }

  all(name: string): readonly string[] {
    return this.found.get(name) ?? [];
  }

  text(name: string): string | undefined {
    return this.found.get(name)?.[0];
  }

  number(name: string): number | undefined {
    const value = Number.parseInt(this.text(name) ?? '', 10);
    return Number.isNaN(value) || value < 0 ? undefined : value;
  }
}
