import {
  type Fault,
  fault,
  findMembers,
  findSoleMember,
  monotonicMs,
  parseJsonText,
  SseScanner,
  type ValuePlace,
} from '../../kernel';
import { type Dialect, type OmittedMember, pick, type StreamWatcher, supplierFault } from '../../protocol';
import { applyEdits, type Edit, memberCut } from './edits';
import type { StreamMending } from './stream-mending';

export interface TapOptions {
  readonly dialect: Dialect;
  /** The caller did not ask for the event that carries nothing but usage. */
  readonly hidesUsage: boolean;
  /** Several answers in one stream: only the supplier can say that all of them are over. */
  readonly manyAnswers: boolean;
  /** Whether the supplier's own event for a failure is forwarded unchanged. */
  readonly keepsFailure: (data: Buffer, problem: Fault) => boolean;
  /** The name of the model that every event is to carry; null leaves the supplier's. */
  readonly model: string | null;
  /** These facts are added to the event with the final usage; null leaves every byte alone. */
  readonly facts: (() => object) | null;
  /** Completes what the supplier leaves out; absent where every byte is left alone. */
  readonly mending?: StreamMending | undefined;
  /** Gets the names of the model and the answer until it says that it has them. */
  readonly named?: ((model: unknown, id: unknown) => boolean) | undefined;
}

const nothing = Buffer.alloc(0);
const blank = Buffer.from('\n\n');
const closingBrace = 0x7d;
/** A supplier that has told usage and reason may send so much before its last event. */
const MOST_AFTER_USAGE = 1024 * 1024;

/**
 * Parses every event of a passing stream. Whole events are forwarded unchanged, except for the model's name and what
 * they lack. From the event with the final usage on, they are held back until the settlement is durable. Nothing is read after the event
 * that ends the answer. Positions are bytes from the beginning of the stream.
 */
export class Tap {
  /** The answer is over and whole. */
  ended = false;
  firstOutputAt: number | null = null;
  failure: Fault | null = null;
  /** The caller got the failure in the supplier's own words. */
  failurePassed = false;
  /** An event has come, of any kind. */
  sawEvent = false;
  readonly watcher: StreamWatcher;
  private readonly scanner = new SseScanner({ onText: (text, complete) => this.read(text, complete) });
  /** These bytes were received and not forwarded yet, beginning at `sent`. */
  private held: Buffer[] = [];
  private sent = 0;
  private received = 0;
  /** Bytes from here on are held back until the end. */
  private keptFrom = Infinity;
  /** Bytes from here on are dropped. */
  private cutAt = Infinity;
  /** The edits are in order, and none is in what has gone on. */
  private readonly edits: Edit[] = [];
  /** The end of the first event with the final usage. */
  private accountedAt = Infinity;
  private factsEdit: Edit | null = null;
  private ending: Buffer = nothing;
  /** The supplier did not end its stream with this. */
  private terminator: Buffer = nothing;
  private readonly modelText: Buffer;
  private isNamed: boolean;

  constructor(private readonly options: TapOptions) {
    this.watcher = options.dialect.streamWatcher(options.manyAnswers);
    this.isNamed = options.named === undefined;
    this.modelText = Buffer.from(JSON.stringify(options.model));
  }

  /** The caller has something useful, or the answer ended without any. */
  get useful(): boolean {
    return this.watcher.hasOutput || this.watcher.finishReason !== null;
  }

  /** The whole answer has come, and what it used. */
  get accounted(): boolean {
    return this.accountedAt !== Infinity;
  }

  /** Later bytes are ignored. */
  get over(): boolean {
    return this.ended || this.failure !== null;
  }

  /** Reads a chunk and returns the bytes that may be forwarded now. */
  take(chunk: Buffer): Buffer {
    if (this.over) return nothing;
    const { scanner, held } = this;
    held.push(chunk);
    this.received += chunk.length;
    const tooLarge = scanner.push(chunk);
    if (tooLarge !== undefined) this.fail(tooLarge, scanner.blockEnd);
    if (this.received - this.accountedAt > MOST_AFTER_USAGE) this.close(this.accountedAt);
    const end = Math.min(scanner.blockEnd, this.keptFrom, this.cutAt);
    const size = end - this.sent;
    if (size <= 0) return nothing;
    const all = held.length === 1 ? chunk : Buffer.concat(held);
    this.held = size === all.length ? [] : [ownCopy(all.subarray(size))];
    return this.edited(all, size);
  }

  /** The body is over. An answer that lacks only its terminator is whole all the same. */
  end(): void {
    if (this.over) return;
    const { scanner } = this;
    const whole = scanner.blockEnd;
    scanner.end();
    if (this.over) return;
    if (scanner.blockEnd > whole && this.ending === nothing) this.cutAt = Math.min(this.cutAt, whole);
    if (this.watcher.finished && !this.options.manyAnswers)
      this.close(Math.min(scanner.blockEnd, this.cutAt));
  }

  /** The held-back end of a whole answer. */
  last(): Buffer {
    const size = Math.min(this.scanner.blockEnd, this.cutAt) - this.sent;
    const { factsEdit, options } = this;
    const facts = options.facts?.();
    if (factsEdit !== null && facts !== undefined)
      factsEdit.text = Buffer.from(`,"svc":${JSON.stringify(facts)}`);
    const untold = Buffer.from(options.mending?.settle(facts) ?? '');
    const kept = size > 0 ? this.edited(Buffer.concat(this.held), size) : nothing;
    this.held = [];
    return Buffer.concat([kept, this.ending, untold, this.terminator]);
  }

  private edited(all: Buffer, size: number): Buffer {
    const from = this.sent;
    this.sent += size;
    const passing = size === all.length ? all : all.subarray(0, size);
    return applyEdits(passing, from, this.edits);
  }

  /** The answer is complete up to here; its supplier closes without a terminator. */
  private close(at: number): void {
    const { terminator } = this.watcher;
    if (terminator === null || this.over) return;
    this.ended = true;
    this.cutAt = Math.min(this.cutAt, at);
    this.terminator = Buffer.from(terminator);
  }

  private read(text: string, complete: boolean): void {
    if (this.over) return;
    const { scanner, watcher } = this;
    const { mending } = this.options;
    const event = parsed(text);
    if (event === null) {
      const trimmed = text.trim();
      // A half event at the end is not read; `finish` judges a stream that breaks off.
      if (trimmed === '' || (!complete && trimmed !== '[DONE]')) return;
      this.sawEvent = true;
      if (!watcher.watchText(trimmed))
        return this.fail(fault('non_json_provider_response'), scanner.blockStart);
      const untold = mending?.beforeEnd(scanner.fieldsStart) ?? null;
      if (untold !== null) this.edits.push(untold);
    } else {
      this.sawEvent = true;
      mending?.mend(event);
      const error = watcher.watch(event);
      if (error !== undefined) {
        const problem = supplierFault(error);
        this.failurePassed = this.options.keepsFailure(scanner.data(), problem);
        return this.fail(problem, this.failurePassed ? scanner.blockEnd : scanner.blockStart);
      }
      if (watcher.hasOutput) this.firstOutputAt ??= monotonicMs();
      if (!this.isNamed) this.name(event);
      this.edit(text, event);
    }
    if (!complete) this.ending = blank;
    if (watcher.ended) this.finish();
  }

  private name(event: Record<string, unknown>): void {
    let holder: unknown = event;
    for (const part of this.watcher.modelPath.slice(0, -1)) holder = pick(holder, part);
    this.isNamed = this.options.named?.(pick(holder, 'model'), pick(holder, 'id')) ?? true;
  }

  /** The event that ends the answer has come. An answer without a reason to stop broke off. */
  private finish(): void {
    const { scanner, watcher } = this;
    if (watcher.finishReason === null) {
      const problem = fault(watcher.hasOutput ? 'stream_interrupted' : 'empty_stream');
      return this.fail(problem, scanner.blockStart);
    }
    this.ended = true;
    this.keptFrom = Math.min(this.keptFrom, scanner.blockStart);
    this.cutAt = Math.min(this.cutAt, scanner.blockEnd);
  }

  private edit(text: string, event: Record<string, unknown>): void {
    const { scanner, watcher, options } = this;
    if (watcher.reported && watcher.isBare && options.hidesUsage) {
      const { blockStart: start, blockEnd: end } = scanner;
      this.edits.push({ start, end, text: nothing });
      if (watcher.finished) this.keep();
      return;
    }
    const changes: Edit[] = [];
    if (options.model !== null && namesAnother(event, watcher.modelPath, options.model)) {
      for (const { start, end } of this.modelPlaces(text)) changes.push({ start, end, text: this.modelText });
    }
    // Only because usage was asked for in the caller's place do all other events say that they have none.
    const unasked = options.hidesUsage && event.usage === null ? memberCut(scanner.data(), 'usage') : null;
    if (unasked !== null) changes.push(unasked);
    if (options.mending !== undefined) changes.unshift(...options.mending.edits(scanner));
    this.markFinal(event, changes);
    if (options.facts !== null && watcher.omitted !== null) changes.push(...this.placesOf(watcher.omitted));
    const before = options.mending?.before(event, scanner) ?? '';
    if (changes.length === 0 && before === '') return;
    this.place(
      changes.sort((one, other) => one.start - other.start),
      Buffer.from(before),
    );
  }

  /** The event with the final usage waits for the settlement, and says what is charged. */
  private markFinal(event: Record<string, unknown>, changes: Edit[]): void {
    const { scanner, watcher, options } = this;
    const closes = options.mending?.closes(event) ?? false;
    if (!watcher.finished || !(watcher.reported || closes)) return;
    if (watcher.reported) this.keep();
    else this.keptFrom = Math.min(this.keptFrom, scanner.blockStart);
    if (options.mending !== undefined) changes.push(...options.mending.usageEdits(event, scanner.data()));
    if (options.facts !== null) changes.push(this.placeForFacts());
  }

  /** A search finds it in text of one byte a character, where places in the text are those in the bytes. */
  private modelPlaces(text: string): readonly ValuePlace[] {
    const { scanner, watcher } = this;
    const sole = scanner.dataLength === text.length ? findSoleMember(text, 'model') : null;
    return sole === null ? findMembers(scanner.data(), ...watcher.modelPath) : [sole];
  }

  private placesOf({ path, value }: OmittedMember): Edit[] {
    const text = Buffer.from(JSON.stringify(value));
    return findMembers(this.scanner.data(), ...path).map(({ start, end }) => ({ start, end, text }));
  }

  /** The event read last carries the final usage. */
  private keep(): void {
    this.keptFrom = Math.min(this.keptFrom, this.scanner.blockStart);
    if (this.accountedAt === Infinity) this.accountedAt = this.scanner.blockEnd;
  }

  /** Only the last of several such events carries the facts. */
  private placeForFacts(): Edit {
    const at = this.scanner.data().lastIndexOf(closingBrace);
    this.factsEdit = { start: at, end: at, text: nothing };
    return this.factsEdit;
  }

  /**
   * Turns changes of the data, and what is to stand before them, into edits of the stream. Data of several lines is
   * first joined into one.
   */
  private place(changes: Edit[], before: Buffer): void {
    const { scanner } = this;
    const { dataStart, fieldsStart } = scanner;
    if (dataStart !== -1) {
      if (before.length > 0) this.edits.push({ start: fieldsStart, end: fieldsStart, text: before });
      for (const change of changes) {
        change.start += dataStart;
        change.end += dataStart;
        this.edits.push(change);
      }
      return;
    }
    // Between the lines of a JSON text there is nothing but space.
    const line = Buffer.from(scanner.data().toString('latin1').replaceAll('\n', ' '), 'latin1');
    const { blockStart: start, blockEnd: end } = scanner;
    const fields = Buffer.concat([before, scanner.otherLines(), Buffer.from('data: ')]);
    // The new data replaces the last byte of the event, so that it goes out with this event.
    const tail = end - 1;
    this.edits.push({ start, end: tail, text: fields });
    let at = 0;
    for (const change of changes) {
      this.edits.push({ start: tail, end: tail, text: line.subarray(at, change.start) });
      at = change.end;
      change.start = change.end = tail;
      this.edits.push(change);
    }
    this.edits.push({ start: tail, end, text: Buffer.concat([line.subarray(at), blank]) });
  }

  private fail(problem: Fault, at: number): void {
    this.failure ??= problem;
    this.cutAt = Math.min(this.cutAt, at);
  }
}

function namesAnother(event: Record<string, unknown>, path: readonly string[], model: string): boolean {
  let value: unknown = event;
  for (const name of path) {
    if (typeof value !== 'object' || value === null) return false;
    value = Reflect.get(value, name);
  }
  return value !== undefined && value !== model;
}

/** Copies the unfinished event, so that it does not keep earlier chunks in memory. */
function ownCopy(bytes: Buffer): Buffer {
  const copy = Buffer.allocUnsafeSlow(bytes.length);
  bytes.copy(copy);
  return copy;
}

function parsed(text: string): Record<string, unknown> | null {
  try {
    const value = parseJsonText(text);
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isObject ? (value as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}
