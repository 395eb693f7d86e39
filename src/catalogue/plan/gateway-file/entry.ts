import { type Document, isAlias, isMap, isScalar, isSeq, type LineCounter, type Node, type Pair } from 'yaml';
import { HOUR_MS, MINUTE_MS, SECOND_MS } from '../../../kernel';
import { didYouMean } from '../nearest';
import type { FileFault, FilePosition } from './file-fault';
import { expandReferences, isReference, type References } from './references';

export interface FileContext {
  readonly document: Document;
  readonly lines: LineCounter;
  readonly references: References | null;
  readonly faults: FileFault[];
}

export class Entry implements FilePosition {
  private readonly node: unknown;

  constructor(
    private readonly context: FileContext,
    rawNode: unknown,
    readonly path: string,
    readonly line = 1,
  ) {
    this.node = isAlias(rawNode) ? rawNode.resolve(context.document) : rawNode;
  }

  /** Omitted, or written without a value. */
  get isAbsent(): boolean {
    return this.node === undefined || this.node === null || (isScalar(this.node) && this.node.value === null);
  }

  get isText(): boolean {
    return isScalar(this.node);
  }

  fault(problem: string): undefined {
    const { path, line } = this;
    const isReported = this.context.faults.some((fault) => fault.path === path && fault.problem === problem);
    if (!isReported) this.context.faults.push({ path, line, problem });
    return undefined;
  }

  /**
   * Reports a fault at a path below, such as `thinking.types[0]`; a missing value is reported at the line of its
   * parent.
   */
  faultBelow(relativePath: string, problem: string): undefined {
    const [step = '', ...rest] = relativePath.split(/(?=[.[])/);
    if (step === '') return this.fault(problem);
    const name = step.replace(/^[.[]|\]$/g, '');
    const child = isSeq(this.node) ? this.list()[Number(name)] : new Map(this.named()).get(name);
    const target = child ?? new Entry(this.context, undefined, this.below(name), this.line);
    return target.faultBelow(rest.join(''), problem);
  }

  /** Fields of a mapping; any other field is reported as a fault. */
  fields<const Name extends string>(...names: Name[]): Record<Name, Entry> {
    const entries = new Map(this.named());
    for (const [name, entry] of entries) {
      if (!names.some((known) => known === name)) entry.fault(`is not known here${didYouMean(name, names)}`);
    }
    const absent = (name: string): Entry => new Entry(this.context, undefined, this.below(name), this.line);
    return Object.fromEntries(names.map((name) => [name, entries.get(name) ?? absent(name)])) as Record<
      Name,
      Entry
    >;
  }

  named(): [string, Entry][] {
    if (this.isAbsent) return [];
    if (!isMap(this.node)) {
      this.fault('expected names with values below them');
      return [];
    }
    return this.node.items.map((pair) => {
      const name = keyOf(pair);
      return [name, new Entry(this.context, pair.value, this.below(name), this.lineOf(pair.key))];
    });
  }

  list(): Entry[] {
    if (this.isAbsent) return [];
    if (!isSeq(this.node)) {
      this.fault('expected a list');
      return [];
    }
    return this.node.items.map(
      (item, index) => new Entry(this.context, item, `${this.path}[${index}]`, this.lineOf(item)),
    );
  }

  /** Text as written, with references replaced. Numbers keep every digit. */
  text(): string | undefined {
    if (this.isAbsent) return undefined;
    if (!isScalar(this.node)) return this.fault('expected a single value');
    const { value, source } = this.node;
    const rawText = typeof value === 'string' ? value : (source ?? String(value));
    const expanded = expandReferences(rawText, this.context.references);
    return expanded.ok ? expanded.value : this.fault(expanded.error);
  }

  required(): string | undefined {
    return this.isAbsent ? this.fault('is missing') : this.text();
  }

  /** Accepts only a reference, so that the file itself holds no secrets. */
  secret(): string | undefined {
    if (this.isAbsent) return undefined;
    const rawText = isScalar(this.node) ? this.node.value : undefined;
    if (typeof rawText !== 'string' || !isReference(rawText)) {
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
    const match = choices.find((choice) => choice === text);
    return match ?? this.fault(`expected one of ${choices.join(', ')}${didYouMean(text, choices)}`);
  }

  truth(): boolean | undefined {
    const text = this.oneOf(['true', 'false']);
    return text === undefined ? undefined : text === 'true';
  }

  wholeNumber(min: number, max = 2_147_483_647): number | undefined {
    const text = this.text();
    if (text === undefined) return undefined;
    const value = /^-?\d{1,10}$/.test(text.replaceAll('_', ''))
      ? Number(text.replaceAll('_', ''))
      : Number.NaN;
    if (value >= min && value <= max) return value;
    return this.fault(`expected a whole number from ${min} to ${max}`);
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

  data(): unknown {
    if (this.isAbsent) return undefined;
    if (this.path.length > MAX_PATH_LENGTH) return this.fault('is nested too deeply');
    if (isMap(this.node))
      return Object.fromEntries(this.named().map(([name, entry]) => [name, entry.data()]));
    if (isSeq(this.node)) return this.list().map((entry) => entry.data());
    return isScalar(this.node) && typeof this.node.value !== 'string' ? this.node.value : this.text();
  }

  private lineOf(node: unknown): number {
    const [start] = (node as Partial<Node> | null)?.range ?? [];
    return start === undefined ? this.line : this.context.lines.linePos(start).line;
  }

  private below(name: string): string {
    const segment = /^[\w-]+$/.test(name) ? name : JSON.stringify(name);
    return this.path === '' ? segment : `${this.path}.${segment}`;
  }
}

/** Stops the recursion of an anchor that contains itself. */
const MAX_PATH_LENGTH = 1_000;
const MILLISECONDS: Readonly<Record<string, number>> = { ms: 1, s: SECOND_MS, m: MINUTE_MS, h: HOUR_MS };
const ISO_INSTANT = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?(Z|[+-]\d{2}:\d{2})$/;

/** Names are text, even if YAML reads a number or boolean. */
function keyOf({ key }: Pair): string {
  if (!isScalar(key)) return String(key);
  return typeof key.value === 'string' ? key.value : (key.source ?? String(key.value));
}
