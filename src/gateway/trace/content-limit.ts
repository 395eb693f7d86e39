import type { TraceMessage, TracePart } from './content-messages';

export interface LimitedJson {
  readonly json: string;
  readonly isCut: boolean;
}

const BRACKET_BYTES = 2;
const ELLIPSIS = '…';
/** A text cut shorter than this is left out. */
const MIN_TEXT_LENGTH = 16;
const SHRINK_FACTOR = 0.75;

/** The end of a conversation matters most; of everything else, the beginning. */
type KeptSide = 'first' | 'last';

export const limitMessages = (
  messages: readonly TraceMessage[],
  maxBytes: number,
  side: KeptSide,
): LimitedJson => limitList(messages, maxBytes, side, (message, left) => limitMessage(message, left, side));

export const limitParts = (parts: readonly TracePart[], maxBytes: number): LimitedJson =>
  limitList(parts, maxBytes, 'first', limitPart);

function limitList<Item>(
  items: readonly Item[],
  maxBytes: number,
  side: KeptSide,
  write: (item: Item, remaining: number) => LimitedJson | null,
): LimitedJson {
  const written: string[] = [];
  let remaining = maxBytes - BRACKET_BYTES;
  let isCut = false;
  for (let index = 0; index < items.length && !isCut; index += 1) {
    const item = items[side === 'first' ? index : items.length - 1 - index]!;
    const limited = write(item, remaining);
    isCut = limited?.isCut ?? true;
    if (limited === null) break;
    written.push(limited.json);
    remaining -= Buffer.byteLength(limited.json) + 1;
  }
  if (side === 'last') written.reverse();
  return { json: `[${written.join(',')}]`, isCut };
}

function limitMessage(
  { parts, ...rest }: TraceMessage,
  remaining: number,
  side: KeptSide,
): LimitedJson | null {
  const head = `${JSON.stringify(rest).slice(0, -1)},"parts":`;
  const partsBytes = remaining - Buffer.byteLength(head) - 1;
  const inner = limitList(parts, partsBytes, side, limitPart);
  if (partsBytes < BRACKET_BYTES || (inner.isCut && inner.json === '[]')) return null;
  return { json: `${head}${inner.json}}`, isCut: inner.isCut };
}

function limitPart(part: TracePart, maxBytes: number): LimitedJson | null {
  for (let maxText = maxBytes; maxText >= MIN_TEXT_LENGTH; maxText = Math.floor(maxText * SHRINK_FACTOR)) {
    const writer = new TracePartWriter(maxText, maxBytes);
    const json = writer.write(part);
    if (json !== null && Buffer.byteLength(json) <= maxBytes) return { json, isCut: writer.isCut };
  }
  return null;
}

const TOO_LONG_ERROR = new Error('it takes more bytes than there are');

class TracePartWriter {
  isCut = false;

  constructor(
    private readonly maxText: number,
    private remaining: number,
  ) {}

  write(part: TracePart): string | null {
    try {
      return JSON.stringify(part, this.replacer);
    } catch {
      return null;
    }
  }

  private readonly replacer = (name: string, value: unknown): unknown => {
    const length = typeof value === 'string' ? Math.min(value.length, this.maxText) : 1;
    this.remaining -= name.length + length;
    if (this.remaining < 0) throw TOO_LONG_ERROR;
    if (typeof value !== 'string') return value;
    if (value.length <= this.maxText) return value.toWellFormed();
    this.isCut = true;
    return value.slice(0, this.maxText).toWellFormed() + ELLIPSIS;
  };
}
