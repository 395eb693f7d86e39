import { randomBytes } from 'node:crypto';

/** Prefix of every mark, so that a single search finds them all. */
const PREFIX = 'canaryqx7z';

export interface CanaryMark {
  /** Description of the mark: a prompt, an answer, a secret. */
  readonly name: string;
  readonly text: string;
  /** Stored in the database by design, such as the name of a key. */
  readonly isStored: boolean;
}

/** Unique texts, each used in exactly one place. */
export class CanaryMarks {
  readonly all: CanaryMark[] = [];

  make(name: string, prefix = ''): string {
    return this.add(name, `${prefix}${PREFIX}${randomBytes(10).toString('hex')}`, false);
  }

  makeStored(name: string): string {
    return this.add(name, `${PREFIX}${randomBytes(10).toString('hex')}`, true);
  }

  /** Adds a secret that another party created. */
  add(name: string, text: string, isStored = false): string {
    this.all.push({ name, text, isStored });
    return text;
  }

  /** Finds marks in a text, plain or encoded as hexadecimal or base64. */
  findIn(text: Buffer): CanaryMark[] {
    if (!this.prefixes.some((start) => text.includes(start))) return [];
    return this.all.filter((mark) => encodings(mark.text).some((disguise) => text.includes(disguise)));
  }

  /** Prefixes that justify a full search. */
  private get prefixes(): string[] {
    const others = this.all.filter(({ text }) => !text.includes(PREFIX)).map(({ text }) => text);
    return [PREFIX, ...others].flatMap(encodings);
  }
}

function encodings(text: string): string[] {
  const hex = Buffer.from(text).toString('hex');
  return [text, hex, hex.toUpperCase(), ...base64Forms(text)];
}

/**
 * Returns the three base64 forms of a text, by its offset modulo 3, without the characters shared with its neighbours.
 */
function base64Forms(text: string): string[] {
  return [0, 1, 2].map((shift) => {
    const encoded = Buffer.from(`${'x'.repeat(shift)}${text}`)
      .toString('base64')
      .replaceAll('=', '');
    return encoded.slice(shift === 0 ? 0 : shift + 1, -2);
  });
}
