import { type Document, isAlias, isMap, isScalar, isSeq, type LineCounter, type Node, type Pair } from 'yaml';
import { HOUR_MS, MINUTE_MS, SECOND_MS } from '../../../kernel';
import { didYouMean } from '../nearest';
import type { FileFault, Place } from './file-fault';
import { expandReferences, isReference, type References } from './references';

/** Reading one file needs and yields these. */
export interface Reading {
  readonly document: Document;
  readonly lines: LineCounter;
  readonly references: References | null;
  readonly faults: FileFault[];
}

/** One value of the file. Faults are collected, and reading goes on. */
export class Entry implements Place {
  private readonly node: unknown;

  constructor(
    private readonly reading: Reading,
    given: unknown,
    readonly path: string,
    readonly line = 1,
  ) {
    this.node = isAlias(given) ? given.resolve(reading.document) : given;
  }

  /** It was left out, or written without a value. */
  get isAbsent(): boolean {
    return this.node === undefined || this.node === null || (isScalar(this.node) && this.node.value === null);
  }

  get isText(): boolean {
    return isScalar(this.node);
  }

  fault(problem: string): undefined {
    const { path, line } = this;
    const known = this.reading.faults.some((fault) => fault.path === path && fault.problem === problem);
    if (!known) this.reading.faults.push({ path, line, problem });
    return undefined;
  }

  /** A fault at a place below, such as `thinking.types[0]`; what is missing there is told at the line above it. */
  faultBelow(place: string, problem: string): undefined {
    const [step = '', ...rest] = place.split(/(?=[.[])/);
    if (step === '') return this.fault(problem);
    const name = step.replace(/^[.[]|\]$/g, '');
    const found = isSeq(this.node) ? this.list()[Number(name)] : new Map(this.named()).get(name);
    const below = found ?? new Entry(this.reading, undefined, this.below(name), this.line);
    return below.faultBelow(rest.join(''), problem);
  }

  /** The fields of a mapping; any other field is a fault. */
  fields<const Name extends string>(...names: Name[]): Record<Name, Entry> {
    const found = new Map(this.named());
    for (const [name, entry] of found) {
      if (!names.some((known) => known === name)) entry.fault(`is not known here${didYouMean(name, names)}`);
    }
    const absent = (name: string): Entry => new Entry(this.reading, undefined, this.below(name), this.line);
    return Object.fromEntries(names.map((name) => [name, found.get(name) ?? absent(name)])) as Record<
      Name,
      Entry
    >;
  }

  /** The entries of a mapping whose names are free. */
  named(): [string, Entry][] {
    if (this.isAbsent) return [];
    if (!isMap(this.node)) {
      this.fault('expected names with values below them');
      return [];
    }
    return this.node.items.map((pair) => {
      const name = keyOf(pair);
      return [name, new Entry(this.reading, pair.value, this.below(name), this.lineOf(pair.key))];
    });
  }

  list(): Entry[] {
    if (this.isAbsent) return [];
    if (!isSeq(this.node)) {
      this.fault('expected a list');
      return [];
    }
    return this.node.items.map(
      (item, place) => new Entry(this.reading, item, `${this.path}[${place}]`, this.lineOf(item)),
    );
  }

  /** As it is written, with references replaced. Numbers keep every digit. */
  text(): string | undefined {
    if (this.isAbsent) return undefined;
    if (!isScalar(this.node)) return this.fault('expected a single value');
    const { value, source } = this.node;
    const written = typeof value === 'string' ? value : (source ?? String(value));
    const expanded = expandReferences(written, this.reading.references);
    return expanded.ok ? expanded.value : this.fault(expanded.error);
  }

  required(): string | undefined {
    return this.isAbsent ? this.fault('is missing') : this.text();
  }

  /** It is given only by reference: a file that is shown around holds no secrets. */
  secret(): string | undefined {
    if (this.isAbsent) return undefined;
    const written = isScalar(this.node) ? this.node.value : undefined;
    if (typeof written !== 'string' || !isReference(written)) {
      return this.fault(
        'expected ${NAME} of an environment variable or ${file:PATH}: secrets stay out of the file',
      );
    }
    return this.text();
  }

  texts(): string[] | undefined {
    return this.isAbsent ? undefined : this.list().flatMap((entry) => entry.required() ?? []);
  }

  oneOf<const Choice extends string>(choices: readonly Choice[]): Choice | undefined {
    const text = this.text();
    if (text === undefined) return undefined;
    const chosen = choices.find((choice) => choice === text);
    return chosen ?? this.fault(`expected one of ${choices.join(', ')}${didYouMean(text, choices)}`);
  }

  truth(): boolean | undefined {
    const text = this.oneOf(['true', 'false']);
    return text === undefined ? undefined : text === 'true';
  }

  wholeNumber(least: number, most = 2_147_483_647): number | undefined {
    const text = this.text();
    if (text === undefined) return undefined;
    const value = /^-?\d{1,10}$/.test(text.replaceAll('_', ''))
      ? Number(text.replaceAll('_', ''))
      : Number.NaN;
    if (value >= least && value <= most) return value;
    return this.fault(`expected a whole number from ${least} to ${most}`);
  }

  milliseconds(): number | undefined {
    const text = this.text();
    if (text === undefined) return undefined;
    const [, digits, unit = ''] = /^(\d{1,9})(ms|s|m|h)$/.exec(text) ?? [];
    if (digits === undefined || Number(digits) === 0)
      return this.fault('expected a duration such as 500ms, 10s or 5m');
    return Number(digits) * (MILLISECONDS[unit] ?? 1);
  }

  instant(): Date | undefined {
    const text = this.text();
    if (text === undefined) return undefined;
    const instant = ISO_INSTANT.test(text) ? new Date(text) : new Date(Number.NaN);
    if (!Number.isNaN(instant.getTime())) return instant;
    return this.fault('expected an instant with its zone, such as 2027-01-01T00:00:00Z');
  }

  /** The value of any shape, as plain data. */
  data(): unknown {
    if (this.isAbsent) return undefined;
    if (this.path.length > LONGEST_PATH) return this.fault('is nested too deeply');
    if (isMap(this.node))
      return Object.fromEntries(this.named().map(([name, entry]) => [name, entry.data()]));
    if (isSeq(this.node)) return this.list().map((entry) => entry.data());
    return isScalar(this.node) && typeof this.node.value !== 'string' ? this.node.value : this.text();
  }

  private lineOf(node: unknown): number {
    const [start] = (node as Partial<Node> | null)?.range ?? [];
    return start === undefined ? this.line : this.reading.lines.linePos(start).line;
  }

  private below(name: string): string {
    const shown = /^[\w-]+$/.test(name) ? name : JSON.stringify(name);
    return this.path === '' ? shown : `${this.path}.${shown}`;
  }
}

/** An anchor may contain itself. */
const LONGEST_PATH = 1_000;
const MILLISECONDS: Readonly<Record<string, number>> = { ms: 1, s: SECOND_MS, m: MINUTE_MS, h: HOUR_MS };
const ISO_INSTANT = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?(Z|[+-]\d{2}:\d{2})$/;

/** Names are texts, also where YAML reads a number or a truth value. */
function keyOf({ key }: Pair): string {
  if (!isScalar(key)) return String(key);
  return typeof key.value === 'string' ? key.value : (key.source ?? String(key.value));
}
