/** A JSON value with every name as often as it was written. Objects are lists of entries. */
export type Tree =
  string | number | boolean | null | readonly Tree[] | { readonly entries: readonly Entry[] };
export type Entry = readonly [name: string, value: Tree];

/** Reads as the grammar says, and by nothing of the product. */
export function treeOf(text: string): Tree {
  const reader = new TreeReader(text);
  const tree = reader.value();
  reader.end();
  return tree;
}

class TreeReader {
  private at = 0;

  constructor(private readonly text: string) {}

  value(): Tree {
    this.space();
    const character = this.text[this.at];
    if (character === '{') return { entries: this.list('}', () => this.entry()) };
    if (character === '[') return this.list(']', () => this.value());
    if (character === '"') return this.string();
    const found = /^(?:true|false|null|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)/.exec(
      this.text.slice(this.at, this.at + 400),
    );
    if (found === null) throw new Error(`no JSON at ${this.at}`);
    this.at += found[0].length;
    return JSON.parse(found[0]) as Tree;
  }

  end(): void {
    this.space();
    if (this.at !== this.text.length) throw new Error(`more than JSON at ${this.at}`);
  }

  private entry(): Entry {
    this.space();
    const name = this.string();
    this.space();
    this.need(':');
    return [name, this.value()];
  }

  private list<T>(closing: string, item: () => T): T[] {
    const items: T[] = [];
    this.at += 1;
    this.space();
    if (this.text[this.at] === closing) {
      this.at += 1;
      return items;
    }
    for (;;) {
      items.push(item());
      this.space();
      if (this.text[this.at] === closing) break;
      this.need(',');
    }
    this.at += 1;
    return items;
  }

  private string(): string {
    const start = this.at;
    this.need('"');
    while (this.text[this.at] !== '"') this.at += this.text[this.at] === '\\' ? 2 : 1;
    this.at += 1;
    return JSON.parse(this.text.slice(start, this.at)) as string;
  }

  private space(): void {
    while (/[ \t\r\n]/.test(this.text[this.at] ?? '')) this.at += 1;
  }

  private need(character: string): void {
    if (this.text[this.at] !== character) throw new Error(`no ${character} at ${this.at}`);
    this.at += 1;
  }
}

/** A program finds a field by its rules: the names it takes, and which of several it keeps. */
export interface Reader {
  readonly name: string;
  readonly find: (entries: readonly Entry[], name: string) => Tree | undefined;
}

/** The letters that Go's encoding/json takes for others. */
const goFieldKey = (name: string): string =>
  name.replaceAll('\u017f', 's').replaceAll('\u212a', 'k').toLowerCase();
/** More than any reader known does: every kind of letter, and nothing that cannot be seen. */
const allFolded = (name: string): string =>
  name
    .normalize('NFKC')
    .replace(/[\p{Cf}\p{Cc}\p{Z}]/gu, '')
    .toUpperCase()
    .toLowerCase();

export const readers: readonly Reader[] = [
  { name: 'the first wins', find: (entries, name) => entries.find(([each]) => each === name)?.[1] },
  { name: 'the last wins', find: (entries, name) => entries.findLast(([each]) => each === name)?.[1] },
  {
    name: 'no case, the last wins, as in Go',
    find: (entries, name) => entries.findLast(([each]) => goFieldKey(each) === goFieldKey(name))?.[1],
  },
  {
    name: 'no case, no form, the first wins',
    find: (entries, name) => entries.find(([each]) => allFolded(each) === allFolded(name))?.[1],
  },
];

export const entriesOf = (tree: Tree | undefined): readonly Entry[] =>
  typeof tree === 'object' && tree !== null && !Array.isArray(tree)
    ? (tree as { entries: readonly Entry[] }).entries
    : [];
