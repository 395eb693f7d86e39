import type { Mask, MaskedSpan } from '#extension';
import { monotonicMs, thrownWords } from '../../kernel';

/** The longest text that may take a span's place, and the most that a text may grow to at once. */
const LONGEST_REPLACEMENT = 64 * 1024;
const MOST_WRITTEN = 16 * 1024 * 1024;

/** A mask that threw, or answered what is no list of spans. */
export class MaskFailed extends Error {
  constructor(
    readonly gate: string,
    reason: string,
    options?: ErrorOptions,
  ) {
    super(`The mask ${gate} failed: ${reason}`, options);
    this.name = 'MaskFailed';
  }
}

export interface MaskWatch {
  failed(failure: MaskFailed): void;
  /** One look took longer than the gate's own deadline. */
  slow(gate: string, milliseconds: number): void;
}

export interface RunOptions {
  /** As records and pages name the gate. */
  readonly name: string;
  readonly mask: Mask;
  readonly onError: 'open' | 'closed';
  readonly timeoutMs: number;
  readonly watch: MaskWatch;
}

/** One mask at work on the texts of one answer. */
export class MaskRun {
  /** How long its looks took together. */
  milliseconds = 0;
  /** It found something. */
  hasMasked = false;
  /** It failed, so that the answer goes on without it. */
  isOut = false;
  readonly name: string;
  readonly longest: number;
  private readonly mask: Mask;

  constructor(private readonly options: RunOptions) {
    this.name = options.name;
    this.mask = options.mask;
    this.longest = options.mask.longest;
  }

  get verdict(): 'masked' | 'abstain' | 'failed' {
    if (this.isOut) return 'failed';
    return this.hasMasked ? 'masked' : 'abstain';
  }

  /** Null where it failed and answers go on without it; otherwise a failure is thrown. */
  find(text: string): readonly MaskedSpan[] | null {
    const startedMs = monotonicMs();
    let found: unknown;
    try {
      found = this.mask.find(text);
    } catch (cause) {
      this.took(monotonicMs() - startedMs);
      return this.fail(cause);
    }
    this.took(monotonicMs() - startedMs);
    try {
      return this.checked(found, text.length);
    } catch (cause) {
      return this.fail(cause);
    }
  }

  private took(milliseconds: number): void {
    this.milliseconds += milliseconds;
    if (milliseconds > this.options.timeoutMs) this.options.watch.slow(this.name, milliseconds);
  }

  /** A short replacement of many spans can be too much as well. */
  mayWrite(size: number): boolean {
    if (size <= MOST_WRITTEN) return true;
    this.fail(new MaskFailed(this.name, `its replacements are longer than ${MOST_WRITTEN} characters`));
    return false;
  }

  fail(cause: unknown): null {
    const failure =
      cause instanceof MaskFailed ? cause : new MaskFailed(this.name, thrownWords(cause), { cause });
    if (!this.isOut) this.options.watch.failed(failure);
    this.isOut = true;
    if (this.options.onError === 'closed') throw failure;
    return null;
  }

  /** They come from elsewhere: each part is read once, and nothing of them is trusted. */
  private checked(spans: unknown, length: number): readonly MaskedSpan[] {
    if (!Array.isArray(spans)) throw this.rubbish(spans, 'find() returned no list');
    if (spans.length === 0) return none;
    const found: MaskedSpan[] = [];
    let from = 0;
    for (const span of spans as readonly unknown[]) {
      if (typeof span !== 'object' || span === null) throw this.rubbish(span, 'a span is no object');
      const { start, end, text } = span as MaskedSpan;
      if (!Number.isInteger(start) || !Number.isInteger(end) || start < from || end <= start || end > length)
        throw this.rubbish(
          span,
          `a span from ${String(start)} to ${String(end)} has no place after the one before it`,
        );
      if (end - start > this.longest)
        throw this.rubbish(
          span,
          `a span of ${end - start} characters is longer than its longest, ${this.longest}`,
        );
      if (typeof text !== 'string' || text.length > LONGEST_REPLACEMENT)
        throw this.rubbish(span, `a replacement is no text of at most ${LONGEST_REPLACEMENT} characters`);
      found.push({ start, end, text });
      from = end;
    }
    return found;
  }

  /** A promise in place of spans may still reject, which nobody would wait for. */
  private rubbish(value: unknown, reason: string): MaskFailed {
    if (value instanceof Promise) value.catch(() => undefined);
    return new MaskFailed(this.name, reason);
  }
}

const none: readonly MaskedSpan[] = Object.freeze([]);
