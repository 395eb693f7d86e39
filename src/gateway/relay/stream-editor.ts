import {
  type Fault,
  fault,
  findMembers,
  findSoleMember,
  monotonicMs,
  parseJsonText,
  SseScanner,
  type ValueRange,
} from '../../kernel';
import { type Dialect, type OmittedMember, pick, type StreamWatcher, supplierFault } from '../../protocol';
import { applyEdits, type StreamEdit, memberCut } from './stream-edits';
import type { StreamRepair } from './stream-repair';

export interface StreamEditorOptions {
  readonly dialect: Dialect;
  readonly hidesUsage: boolean;
  /** True if the stream has several choices, so that only the supplier can say that all have ended. */
  readonly manyAnswers: boolean;
  readonly keepsFailure: (data: Buffer, problem: Fault) => boolean;
  /** Model name that every event has to carry; null keeps the supplier's. */
  readonly model: string | null;
  /** Fields to add to the event with the final usage; null adds none. */
  readonly facts: (() => object) | null;
  readonly mending?: StreamRepair | undefined;
  /** Records the names of the model and the response; returns true once both are known. */
  readonly named?: ((model: unknown, id: unknown) => boolean) | undefined;
}

const nothing = Buffer.alloc(0);
const blank = Buffer.from('\n\n');
const closingBrace = 0x7d;
const MAX_BYTES_AFTER_USAGE = 1024 * 1024;

/**
 * Forwards a passing stream unchanged, except for the model's name and missing fields; offsets count from its start.
 * Events from the final usage on are held back until the settlement is durable.
 */
export class StreamEditor {
  ended = false;
  firstOutputAt: number | null = null;
  failure: Fault | null = null;
  failurePassed = false;
  sawEvent = false;
  readonly watcher: StreamWatcher;
  private readonly scanner = new SseScanner({ onText: (text, complete) => this.readEvent(text, complete) });
  /** Received bytes that are not forwarded yet, starting at offset `sent`. */
  private held: Buffer[] = [];
  private sentBytes = 0;
  private receivedBytes = 0;
  /** Offset from which bytes are held back until the end. */
  private heldFrom = Infinity;
  private cutAt = Infinity;
  private readonly edits: StreamEdit[] = [];
  private usageEnd = Infinity;
  private factsEdit: StreamEdit | null = null;
  private ending: Buffer = nothing;
  private terminator: Buffer = nothing;
  private readonly modelText: Buffer;
  private isNamed: boolean;

  constructor(private readonly options: StreamEditorOptions) {
    this.watcher = options.dialect.streamWatcher(options.manyAnswers);
    this.isNamed = options.named === undefined;
    this.modelText = Buffer.from(JSON.stringify(options.model));
  }

  get useful(): boolean {
    return this.watcher.hasOutput || this.watcher.finishReason !== null;
  }

  get accounted(): boolean {
    return this.usageEnd !== Infinity;
  }

  get isOver(): boolean {
    return this.ended || this.failure !== null;
  }

  take(chunk: Buffer): Buffer {
    if (this.isOver) return nothing;
    const { scanner, held } = this;
    held.push(chunk);
    this.receivedBytes += chunk.length;
    const tooLarge = scanner.push(chunk);
    if (tooLarge !== undefined) this.fail(tooLarge, scanner.blockEnd);
    if (this.receivedBytes - this.usageEnd > MAX_BYTES_AFTER_USAGE) this.close(this.usageEnd);
    const end = Math.min(scanner.blockEnd, this.heldFrom, this.cutAt);
    const size = end - this.sentBytes;
    if (size <= 0) return nothing;
    const all = held.length === 1 ? chunk : Buffer.concat(held);
    this.held = size === all.length ? [] : [copyBytes(all.subarray(size))];
    return this.takeEdited(all, size);
  }

  /** Ends the body. A response that lacks only its terminator counts as complete. */
  end(): void {
    if (this.isOver) return;
    const { scanner } = this;
    const completeEnd = scanner.blockEnd;
    scanner.end();
    if (this.isOver) return;
    if (scanner.blockEnd > completeEnd && this.ending === nothing)
      this.cutAt = Math.min(this.cutAt, completeEnd);
    if (this.watcher.finished && !this.options.manyAnswers)
      this.close(Math.min(scanner.blockEnd, this.cutAt));
  }

  takeLast(): Buffer {
    const size = Math.min(this.scanner.blockEnd, this.cutAt) - this.sentBytes;
    const { factsEdit, options } = this;
    const facts = options.facts?.();
    if (factsEdit !== null && facts !== undefined)
      factsEdit.text = Buffer.from(`,"svc":${JSON.stringify(facts)}`);
    const usageEvent = Buffer.from(options.mending?.writeUsage(facts) ?? '');
    const heldBytes = size > 0 ? this.takeEdited(Buffer.concat(this.held), size) : nothing;
    this.held = [];
    return Buffer.concat([heldBytes, this.ending, usageEvent, this.terminator]);
  }

  private takeEdited(all: Buffer, size: number): Buffer {
    const from = this.sentBytes;
    this.sentBytes += size;
    const forwarded = size === all.length ? all : all.subarray(0, size);
    return applyEdits(forwarded, from, this.edits);
  }

  /** Completes a response at this offset if its supplier closes without a terminator. */
  private close(offset: number): void {
    const { terminator } = this.watcher;
    if (terminator === null || this.isOver) return;
    this.ended = true;
    this.cutAt = Math.min(this.cutAt, offset);
    this.terminator = Buffer.from(terminator);
  }

  private readEvent(text: string, complete: boolean): void {
    if (this.isOver) return;
    const { scanner, watcher } = this;
    const { mending } = this.options;
    const event = parseEvent(text);
    if (event === null) {
      const trimmed = text.trim();
      // Ignores a truncated last event; `finish` handles interrupted streams.
      if (trimmed === '' || (!complete && trimmed !== '[DONE]')) return;
      this.sawEvent = true;
      if (!watcher.watchText(trimmed))
        return this.fail(fault('non_json_provider_response'), scanner.blockStart);
      const usageEdit = mending?.beforeEnd(scanner.fieldsStart) ?? null;
      if (usageEdit !== null) this.edits.push(usageEdit);
    } else {
      this.sawEvent = true;
      mending?.repair(event);
      const error = watcher.watch(event);
      if (error !== undefined) {
        const problem = supplierFault(error);
        this.failurePassed = this.options.keepsFailure(scanner.data(), problem);
        return this.fail(problem, this.failurePassed ? scanner.blockEnd : scanner.blockStart);
      }
      if (watcher.hasOutput) this.firstOutputAt ??= monotonicMs();
      if (!this.isNamed) this.recordNames(event);
      this.edit(text, event);
    }
    if (!complete) this.ending = blank;
    if (watcher.ended) this.finish();
  }

  private recordNames(event: Record<string, unknown>): void {
    let holder: unknown = event;
    for (const part of this.watcher.modelPath.slice(0, -1)) holder = pick(holder, part);
    this.isNamed = this.options.named?.(pick(holder, 'model'), pick(holder, 'id')) ?? true;
  }

  /** Ends the response at its last event. A response without a finish reason counts as broken. */
  private finish(): void {
    const { scanner, watcher } = this;
    if (watcher.finishReason === null) {
      const problem = fault(watcher.hasOutput ? 'stream_interrupted' : 'empty_stream');
      return this.fail(problem, scanner.blockStart);
    }
    this.ended = true;
    this.heldFrom = Math.min(this.heldFrom, scanner.blockStart);
    this.cutAt = Math.min(this.cutAt, scanner.blockEnd);
  }

  private edit(text: string, event: Record<string, unknown>): void {
    const { scanner, watcher, options } = this;
    if (watcher.reported && watcher.isBare && options.hidesUsage) {
      const { blockStart: start, blockEnd: end } = scanner;
      this.edits.push({ start, end, text: nothing });
      if (watcher.finished) this.holdFromHere();
      return;
    }
    const changes: StreamEdit[] = [];
    if (options.model !== null && hasOtherModel(event, watcher.modelPath, options.model)) {
      for (const { start, end } of this.modelRanges(text)) changes.push({ start, end, text: this.modelText });
    }
    // All other events have a null usage only because usage was requested on the caller's behalf.
    const usageCut = options.hidesUsage && event.usage === null ? memberCut(scanner.data(), 'usage') : null;
    if (usageCut !== null) changes.push(usageCut);
    if (options.mending !== undefined) changes.unshift(...options.mending.edits(scanner));
    this.markFinal(event, changes);
    if (options.facts !== null && watcher.omitted !== null)
      changes.push(...this.omittedEdits(watcher.omitted));
    const before = options.mending?.before(event, scanner) ?? '';
    if (changes.length === 0 && before === '') return;
    this.applyChanges(
      changes.sort((one, other) => one.start - other.start),
      Buffer.from(before),
    );
  }

  /** Holds back the event with the final usage until the settlement, and writes the charged usage into it. */
  private markFinal(event: Record<string, unknown>, changes: StreamEdit[]): void {
    const { scanner, watcher, options } = this;
    const closes = options.mending?.closes(event) ?? false;
    if (!watcher.finished || !(watcher.reported || closes)) return;
    if (watcher.reported) this.holdFromHere();
    else this.heldFrom = Math.min(this.heldFrom, scanner.blockStart);
    if (options.mending !== undefined) changes.push(...options.mending.usageEdits(event, scanner.data()));
    if (options.facts !== null) changes.push(this.addFactsEdit());
  }

  /** The text search works only if every character is one byte, so that text and byte offsets agree. */
  private modelRanges(text: string): readonly ValueRange[] {
    const { scanner, watcher } = this;
    const range = scanner.dataLength === text.length ? findSoleMember(text, 'model') : null;
    return range === null ? findMembers(scanner.data(), ...watcher.modelPath) : [range];
  }

  private omittedEdits({ path, value }: OmittedMember): StreamEdit[] {
    const text = Buffer.from(JSON.stringify(value));
    return findMembers(this.scanner.data(), ...path).map(({ start, end }) => ({ start, end, text }));
  }

  private holdFromHere(): void {
    this.heldFrom = Math.min(this.heldFrom, this.scanner.blockStart);
    if (this.usageEnd === Infinity) this.usageEnd = this.scanner.blockEnd;
  }

  /** Only the last such event carries the svc fields. */
  private addFactsEdit(): StreamEdit {
    const offset = this.scanner.data().lastIndexOf(closingBrace);
    this.factsEdit = { start: offset, end: offset, text: nothing };
    return this.factsEdit;
  }

  /**
   * Turns changes of the event's data, and the text before it, into edits of the stream. Multi-line data is first
   * joined into one line.
   */
  private applyChanges(changes: StreamEdit[], before: Buffer): void {
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
    // Line breaks within JSON text are only white space.
    const line = Buffer.from(scanner.data().toString('latin1').replaceAll('\n', ' '), 'latin1');
    const { blockStart: start, blockEnd: end } = scanner;
    const fields = Buffer.concat([before, scanner.otherLines(), Buffer.from('data: ')]);
    // The new data replaces the last byte of the event, so that both are sent together.
    const tail = end - 1;
    this.edits.push({ start, end: tail, text: fields });
    let offset = 0;
    for (const change of changes) {
      this.edits.push({ start: tail, end: tail, text: line.subarray(offset, change.start) });
      offset = change.end;
      change.start = change.end = tail;
      this.edits.push(change);
    }
    this.edits.push({ start: tail, end, text: Buffer.concat([line.subarray(offset), blank]) });
  }

  private fail(problem: Fault, offset: number): void {
    this.failure ??= problem;
    this.cutAt = Math.min(this.cutAt, offset);
  }
}

function hasOtherModel(event: Record<string, unknown>, path: readonly string[], model: string): boolean {
  let value: unknown = event;
  for (const name of path) {
    if (typeof value !== 'object' || value === null) return false;
    value = Reflect.get(value, name);
  }
  return value !== undefined && value !== model;
}

/** Copies the unfinished event, so that it does not keep earlier chunks in memory. */
function copyBytes(bytes: Buffer): Buffer {
  const copy = Buffer.allocUnsafeSlow(bytes.length);
  bytes.copy(copy);
  return copy;
}

function parseEvent(text: string): Record<string, unknown> | null {
  try {
    const value = parseJsonText(text);
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isObject ? (value as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}
