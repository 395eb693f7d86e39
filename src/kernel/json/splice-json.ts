import { endOfString, endOfValue, skipSpace } from './find-members';
import { parseJsonText } from './parse-json-text';

const COMMA = 0x2c;
const CLOSE_ARRAY = 0x5d;
const CLOSE_OBJECT = 0x7d;
const OPEN_OBJECT = 0x7b;
const BACKSLASH = 0x5c;

/** A path from the outermost object, and the JSON that replaces its value; null removes an item of a list. */
export interface JsonChange {
  readonly path: readonly (string | number)[];
  readonly text: string | null;
}

interface ChangeNode {
  text?: string | null;
  inner?: Map<string | number, ChangeNode>;
}

interface ByteEdit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** Replaces values at any depth in one pass; all other bytes stay unchanged. */
export function spliceJson(bytes: Buffer, changes: readonly JsonChange[]): Buffer {
  const edits = new Splicer(bytes).editsOf(treeOf(changes));
  const parts: Buffer[] = [];
  let from = 0;
  for (const { start, end, text } of edits) {
    parts.push(bytes.subarray(from, start), Buffer.from(text));
    from = end;
  }
  return Buffer.concat([...parts, bytes.subarray(from)]);
}

function treeOf(changes: readonly JsonChange[]): ChangeNode {
  const root: ChangeNode = {};
  for (const { path, text } of changes) {
    let node = root;
    for (const step of path) {
      node.inner ??= new Map();
      const child = node.inner.get(step) ?? {};
      node.inner.set(step, child);
      node = child;
    }
    node.text = text;
  }
  return root;
}

class Splicer {
  private readonly edits: ByteEdit[] = [];

  constructor(private readonly bytes: Buffer) {}

  editsOf(root: ChangeNode): readonly ByteEdit[] {
    this.value(skipSpace(this.bytes, 0), root);
    return this.edits;
  }

  private value(start: number, { text, inner }: ChangeNode): number {
    const { bytes } = this;
    if (inner !== undefined && text === undefined)
      return bytes[start] === OPEN_OBJECT ? this.members(start, inner) : this.items(start, inner);
    const end = endOfValue(bytes, start);
    if (typeof text === 'string') this.edits.push({ start, end, text });
    return end;
  }

  private members(start: number, inner: ReadonlyMap<string | number, ChangeNode>): number {
    const { bytes } = this;
    let at = skipSpace(bytes, start + 1);
    while (bytes[at] !== CLOSE_OBJECT) {
      const nameEnd = endOfString(bytes, at);
      const colon = skipSpace(bytes, nameEnd);
      const node = inner.get(this.nameAt(at, nameEnd));
      at = skipSpace(bytes, this.value(skipSpace(bytes, colon + 1), node ?? {}));
      if (bytes[at] === COMMA) at = skipSpace(bytes, at + 1);
    }
    return at + 1;
  }

  /** A removed item takes the comma before it with it, or the one after it if it is the first. */
  private items(start: number, inner: ReadonlyMap<string | number, ChangeNode>): number {
    const { bytes } = this;
    const first = skipSpace(bytes, start + 1);
    let at = first;
    let keptEnd = -1;
    let cutEnd = -1;
    for (let index = 0; bytes[at] !== CLOSE_ARRAY; index += 1) {
      const node = inner.get(index) ?? {};
      const isCut = node.text === null;
      if (!isCut && cutEnd !== -1) {
        this.edits.push(
          keptEnd === -1 ? { start: first, end: at, text: '' } : { start: keptEnd, end: cutEnd, text: '' },
        );
        cutEnd = -1;
      }
      const end = this.value(at, node);
      if (isCut) cutEnd = end;
      else keptEnd = end;
      at = skipSpace(bytes, end);
      if (bytes[at] === COMMA) at = skipSpace(bytes, at + 1);
    }
    if (cutEnd !== -1) this.edits.push({ start: keptEnd === -1 ? first : keptEnd, end: cutEnd, text: '' });
    return at + 1;
  }

  private nameAt(start: number, end: number): string {
    const literal = this.bytes.toString('utf8', start, end);
    return this.bytes.subarray(start, end).includes(BACKSLASH)
      ? (parseJsonText(literal) as string)
      : literal.slice(1, -1);
  }
}
