import type { Message, Part } from './content-messages';

/** JSON of at most so many bytes. */
export interface Bounded {
  readonly json: string;
  readonly isCut: boolean;
}

const BRACKETS = 2;
const MARK = '…';
/** Less than this of a text is not worth its place. */
const LEAST_TEXT = 16;
const NARROWING = 0.75;

/** The end of a conversation says most of it; of anything else, the beginning does. */
type Kept = 'first' | 'last';

export const boundedMessages = (messages: readonly Message[], most: number, kept: Kept): Bounded =>
  boundedList(messages, most, kept, (message, left) => boundedMessage(message, left, kept));

export const boundedParts = (parts: readonly Part[], most: number): Bounded =>
  boundedList(parts, most, 'first', boundedPart);

/** As many items as fit, the last of which may be cut. */
function boundedList<Item>(
  items: readonly Item[],
  most: number,
  kept: Kept,
  write: (item: Item, left: number) => Bounded | null,
): Bounded {
  const written: string[] = [];
  let left = most - BRACKETS;
  let isCut = false;
  for (let at = 0; at < items.length && !isCut; at += 1) {
    const item = items[kept === 'first' ? at : items.length - 1 - at]!;
    const bounded = write(item, left);
    isCut = bounded?.isCut ?? true;
    if (bounded === null) break;
    written.push(bounded.json);
    left -= Buffer.byteLength(bounded.json) + 1;
  }
  if (kept === 'last') written.reverse();
  return { json: `[${written.join(',')}]`, isCut };
}

function boundedMessage({ parts, ...rest }: Message, left: number, kept: Kept): Bounded | null {
  const head = `${JSON.stringify(rest).slice(0, -1)},"parts":`;
  const room = left - Buffer.byteLength(head) - 1;
  const inner = boundedList(parts, room, kept, boundedPart);
  if (room < BRACKETS || (inner.isCut && inner.json === '[]')) return null;
  return { json: `${head}${inner.json}}`, isCut: inner.isCut };
}

/** Long texts in it are cut until it fits. */
function boundedPart(part: Part, left: number): Bounded | null {
  for (let room = left; room >= LEAST_TEXT; room = Math.floor(room * NARROWING)) {
    const cut = new Cut(room, left);
    const json = cut.written(part);
    if (json !== null && Buffer.byteLength(json) <= left) return { json, isCut: cut.isCut };
  }
  return null;
}

const TOO_LONG = new Error('it takes more bytes than there are');

/** Writes a part with its texts cut, and gives up as soon as it certainly becomes too long. */
class Cut {
  isCut = false;

  constructor(
    private readonly room: number,
    private left: number,
  ) {}

  written(part: Part): string | null {
    try {
      return JSON.stringify(part, this.each);
    } catch {
      return null;
    }
  }

  private readonly each = (name: string, value: unknown): unknown => {
    const length = typeof value === 'string' ? Math.min(value.length, this.room) : 1;
    this.left -= name.length + length;
    if (this.left < 0) throw TOO_LONG;
    if (typeof value !== 'string') return value;
    if (value.length <= this.room) return value.toWellFormed();
    this.isCut = true;
    return value.slice(0, this.room).toWellFormed() + MARK;
  };
}
