/** A JSON value that preserves duplicate names: objects are lists of entries. */
export type JsonTree =
  string | number | boolean | null | readonly JsonTree[] | { readonly entries: readonly JsonTreeEntry[] };
export type JsonTreeEntry = readonly [name: string, value: JsonTree];

/** Parses by the JSON grammar, without any code of the product. */
export function parseTree(text: string): JsonTree {
  const reader = new TreeReader(text);
  const tree = reader.value();
  reader.end();
  return tree;
}

class TreeReader {
  private at = 0;

  constructor(private readonly text: string) {}

  value(): JsonTree {
    this.space();
    const character = this.text[this.at];
    if (character === '{') return { entries: this.list('}', () => this.entry()) };
    if (character === '[') return this.list(']', () => this.value());
    if (character === '"') return this.string();
    const match = /^(?:true|false|null|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)/.exec(
      this.text.slice(this.at, this.at + 400),
    );
    if (match === null) throw new Error(`no JSON at ${this.at}`);
    this.at += match[0].length;
    return JSON.parse(match[0]) as JsonTree;
  }

  end(): void {
    this.space();
    if (this.at !== this.text.length) throw new Error(`more than JSON at ${this.at}`);
  }

  private entry(): JsonTreeEntry {
    this.space();
    const name = this.string();
    this.space();
    this.expect(':');
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
      this.expect(',');
    }
    this.at += 1;
    return items;
  }

  private string(): string {
    const start = this.at;
    this.expect('"');
    while (this.text[this.at] !== '"') this.at += this.text[this.at] === '\\' ? 2 : 1;
    this.at += 1;
    return JSON.parse(this.text.slice(start, this.at)) as string;
  }

  private space(): void {
    while (/[ \t\r\n]/.test(this.text[this.at] ?? '')) this.at += 1;
  }

  private expect(character: string): void {
    if (this.text[this.at] !== character) throw new Error(`no ${character} at ${this.at}`);
    this.at += 1;
  }
}

/** Field lookup of a JSON library: which names match, and which of several wins. */
export interface FieldReader {
  readonly name: string;
  readonly find: (entries: readonly JsonTreeEntry[], name: string) => JsonTree | undefined;
}

/** Case folding of Go's encoding/json. */
const goFieldKey = (name: string): string =>
  name.replaceAll('\u017f', 's').replaceAll('\u212a', 'k').toLowerCase();
/** Folds more than any known reader: all case variants, and invisible characters. */
const allFolded = (name: string): string =>
  name
    .normalize('NFKC')
    .replace(/[\p{Cf}\p{Cc}\p{Z}]/gu, '')
    .toUpperCase()
    .toLowerCase();

export const readers: readonly FieldReader[] = [
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

export const entriesOf = (tree: JsonTree | undefined): readonly JsonTreeEntry[] =>
  typeof tree === 'object' && tree !== null && !Array.isArray(tree)
    ? (tree as { entries: readonly JsonTreeEntry[] }).entries
    : [];
