import { randomBytes } from 'node:crypto';

/** Every mark begins with this, so that one search finds them all. */
const START = 'canaryqx7z';

export interface Mark {
  /** The mark stands for this: a prompt, an answer, a secret. */
  readonly name: string;
  readonly text: string;
  /** Kept in the database by design, such as the name of a key. */
  readonly stored: boolean;
}

/** Unique texts, each put into one place of the service. */
export class Marks {
  readonly all: Mark[] = [];

  make(name: string, prefix = ''): string {
    return this.add(name, `${prefix}${START}${randomBytes(10).toString('hex')}`, false);
  }

  makeStored(name: string): string {
    return this.add(name, `${START}${randomBytes(10).toString('hex')}`, true);
  }

  /** A secret that another party made. */
  add(name: string, text: string, stored = false): string {
    this.all.push({ name, text, stored });
    return text;
  }

  /** The marks in a text, as they are or in the disguise of hexadecimal or base64. */
  in(text: Buffer): Mark[] {
    if (!this.starts.some((start) => text.includes(start))) return [];
    return this.all.filter((mark) => disguises(mark.text).some((disguise) => text.includes(disguise)));
  }

  /** The beginnings that are worth a closer look. */
  private get starts(): string[] {
    const others = this.all.filter(({ text }) => !text.includes(START)).map(({ text }) => text);
    return [START, ...others].flatMap(disguises);
  }
}

function disguises(text: string): string[] {
  const hex = Buffer.from(text).toString('hex');
  return [text, hex, hex.toUpperCase(), ...inBase64(text)];
}

/** In base64 a text looks three ways, depending on where it begins; the ends are the neighbours'. */
function inBase64(text: string): string[] {
  return [0, 1, 2].map((shift) => {
    const whole = Buffer.from(`${'x'.repeat(shift)}${text}`)
      .toString('base64')
      .replaceAll('=', '');
    return whole.slice(shift === 0 ? 0 : shift + 1, -2);
  });
}
