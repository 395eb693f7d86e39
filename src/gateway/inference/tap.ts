import { type Fault, fault, monotonicMs, SseScanner, type UsageReading, parseJsonText } from '../../kernel';
import { pieceMemory } from '../../platform';
import type { Dialect } from '../../protocol';
import { Skimmer, textBytesAt } from './skim';
import { type TapRules, tapRules } from './tap-rules';

export interface TapOptions {
  readonly dialect: Dialect;
  /** The caller did not ask for the event that carries nothing but usage. */
  readonly hidesUsage: boolean;
  /** Several answers in one stream: only the supplier can say that all of them are over. */
  readonly manyAnswers: boolean;
  /** The supplier's own words for a failure go on as they are. */
  readonly keepsFailures: boolean;
  /** What is added to the event with the final usage; null leaves every byte alone. */
  readonly facts: ((usage: UsageReading) => object) | null;
}

interface FinalEvent {
  readonly start: number;
  readonly end: number;
  /** It carries usage and nothing else. */
  readonly bare: boolean;
}

const nothing = Buffer.alloc(0);
const openingBrace = 0x7b;
const closingBrace = 0x7d;

/**
 * Reads along while a stream passes: usage, why it stopped, how much text there was. Most events are text and
 * nothing else, and are not even parsed. Only whole events go on; from the one with the final usage on they are
 * kept back, until the account is on record. Places are counted in bytes from the beginning of the stream.
 */
export class Tap {
  ended = false;
  finishReason: string | null = null;
  textBytes = 0;
  firstTextAt: number | null = null;
  failure: Fault | null = null;
  /** The caller has got the failure in the supplier's own words. */
  failureTold = false;
  private rawUsage: unknown = undefined;
  private readonly rules: TapRules;
  private readonly skimmer: Skimmer;
  private readonly scanner = new SseScanner({ onData: (data, complete) => this.read(data, complete) });
  /** What has come and has not gone on, beginning at `sent`. */
  private held: Buffer[] = [];
  private sent = 0;
  /** Nothing from here on goes on before the end. */
  private keptFrom = Infinity;
  /** Nothing from here on goes on at all. */
  private cutAt = Infinity;
  private final: FinalEvent | null = null;
  private ending: Buffer = nothing;

  constructor(private readonly options: TapOptions) {
    this.rules = tapRules[options.dialect.name];
    this.skimmer = new Skimmer(this.rules.skimMarks);
  }

  /** Something has come that a caller can use, or the answer has ended without. */
  get useful(): boolean {
    return this.firstTextAt !== null || this.finishReason !== null || this.ended;
  }

  /** The whole answer has come, and what it used. */
  get accounted(): boolean {
    return this.final !== null && this.finishReason !== null;
  }

  get usage(): UsageReading {
    return this.rules.normalise(this.rawUsage);
  }

  /** Reads a chunk and answers what may go on to the caller now. */
  take(chunk: Buffer): Buffer {
    const { scanner, held } = this;
    const plain = this.skimmed(chunk);
    const tooLarge = plain < chunk.length ? scanner.push(chunk.subarray(plain)) : undefined;
    if (tooLarge !== undefined) this.fail(tooLarge, scanner.blockEnd);
    held.push(chunk);
    const size = Math.min(scanner.blockEnd, this.keptFrom, this.cutAt) - this.sent;
    if (size <= 0) return nothing;
    this.sent += size;
    const all = held.length === 1 ? chunk : joined(held);
    this.held = size === all.length ? [] : [ownCopy(all.subarray(size))];
    return size === all.length ? all : all.subarray(0, size);
  }

  /** The body is over. An answer that lacks only its terminator is whole all the same. */
  end(): void {
    const whole = this.scanner.blockEnd;
    this.scanner.end();
    if (this.failure !== null) return;
    if (this.scanner.blockEnd > whole) {
      if (this.ended) this.ending = Buffer.from('\n\n');
      else this.cutAt = Math.min(this.cutAt, whole);
    }
    const { terminator } = this.rules;
    if (this.ended || this.finishReason === null || terminator === null || this.options.manyAnswers) return;
    this.ended = true;
    this.ending = terminator;
  }

  /** What was kept back of a whole answer. */
  last(): Buffer {
    const { sent, final } = this;
    const whole = Math.min(this.scanner.blockEnd, this.cutAt) - sent;
    const all = Buffer.concat(this.held).subarray(0, Math.max(0, whole));
    if (final === null) return Buffer.concat([all, this.ending]);
    const event = this.rewrite(all.subarray(final.start - sent, final.end - sent), final);
    return Buffer.concat([
      all.subarray(0, final.start - sent),
      event,
      all.subarray(final.end - sent),
      this.ending,
    ]);
  }

  /** How much of the chunk needs no closer look. */
  private skimmed(chunk: Buffer): number {
    if (!this.scanner.isBetween || this.keptFrom !== Infinity || this.failure !== null) return 0;
    const length = this.skimmer.skim(chunk);
    this.scanner.skip(length);
    if (this.skimmer.textBytes > 0) {
      this.textBytes += this.skimmer.textBytes;
      this.firstTextAt ??= monotonicMs();
    }
    return length;
  }

  private rewrite(event: Buffer, { bare }: FinalEvent): Buffer {
    if (bare && this.options.hidesUsage) return nothing;
    const at = event.lastIndexOf(closingBrace);
    if (this.options.facts === null || at === -1) return event;
    const added = Buffer.from(`,"svc":${JSON.stringify(this.options.facts(this.usage))}`);
    return Buffer.concat([event.subarray(0, at), added, event.subarray(at)]);
  }

  private read(data: Buffer, complete: boolean): void {
    if (this.failure !== null || data.length === 0) return;
    if (this.rules.ends(data)) {
      this.ended = true;
      this.keptFrom = Math.min(this.keptFrom, this.scanner.blockStart);
    } else if (data[0] !== openingBrace || data[data.length - 1] !== closingBrace) {
      // What the stream broke off in is no event; whoever reads the end says what that means.
      if (complete) this.fail(fault('non_json_provider_response'), this.scanner.blockStart);
      return;
    }
    this.countText(data);
    if (this.rules.worthParsing.some((mark) => data.includes(mark))) this.understand(data, complete);
  }

  private understand(data: Buffer, complete: boolean): void {
    const event = parse(data);
    if (event === null) {
      if (complete) this.fail(fault('non_json_provider_response'), this.scanner.blockStart);
      return;
    }
    const error = this.options.dialect.readError(event);
    if (error !== undefined) {
      const told = fault('stream_error', { details: { supplier: error.message } });
      const { keepsFailures } = this.options;
      this.failureTold = keepsFailures;
      return this.fail(told, keepsFailures ? this.scanner.blockEnd : this.scanner.blockStart);
    }
    const reason = this.rules.finishReason(event);
    if (typeof reason === 'string') this.finishReason = reason;
    const usage = this.rules.findUsage(event);
    if (usage === undefined || usage === null) return;
    this.rawUsage = this.rules.mergeUsage(this.rawUsage, usage);
    if (!this.rules.isFinal(event)) return;
    const { blockStart: start, blockEnd: end } = this.scanner;
    this.final = { start, end, bare: Array.isArray(event.choices) && event.choices.length === 0 };
    this.keptFrom = Math.min(this.keptFrom, start);
  }

  private fail(problem: Fault, at: number): void {
    this.failure ??= problem;
    this.cutAt = Math.min(this.cutAt, at);
  }

  /** How much text there was, in case nobody says at the end; read without parsing. */
  private countText(data: Buffer): void {
    for (const mark of this.rules.skimMarks.text) {
      const found = data.indexOf(mark);
      if (found === -1) continue;
      const start = found + mark.length;
      const bytes = textBytesAt(data, start);
      if (bytes === 0) continue;
      this.firstTextAt ??= monotonicMs();
      this.textBytes += bytes;
      return;
    }
  }
}

function joined(pieces: readonly Buffer[]): Buffer {
  const all = pieceMemory(pieces.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const piece of pieces) at += piece.copy(all, at);
  return all;
}

/** So that the beginning of an event keeps nothing of what came before it, however long the rest is waited for. */
function ownCopy(bytes: Buffer): Buffer {
  const copy = Buffer.allocUnsafeSlow(bytes.length);
  bytes.copy(copy);
  return copy;
}

function parse(data: Buffer): Record<string, unknown> | null {
  try {
    const value: unknown = parseJsonText(data.toString('utf8'));
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}
