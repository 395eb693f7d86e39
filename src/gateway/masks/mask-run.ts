import type { Mask, MaskedSpan } from '#extension';
import { monotonicMs, thrownMessage } from '../../kernel';

/** Maximum length of one replacement, and of a text after replacement. */
const MAX_REPLACEMENT_LENGTH = 64 * 1024;
const MAX_MASKED_LENGTH = 16 * 1024 * 1024;

/** A mask threw, or returned something other than a list of spans. */
export class MaskError extends Error {
  constructor(
    readonly gate: string,
    reason: string,
    options?: ErrorOptions,
  ) {
    super(`The mask ${gate} failed: ${reason}`, options);
    this.name = 'MaskFailed';
  }
}

export interface MaskObserver {
  failed(failure: MaskError): void;
  slow(gate: string, milliseconds: number): void;
}

export interface RunOptions {
  readonly name: string;
  readonly mask: Mask;
  readonly onError: 'open' | 'closed';
  readonly timeoutMs: number;
  readonly watch: MaskObserver;
}

export class MaskRun {
  milliseconds = 0;
  hasMasked = false;
  isDisabled = false;
  readonly name: string;
  readonly longest: number;
  private readonly mask: Mask;

  constructor(private readonly options: RunOptions) {
    this.name = options.name;
    this.mask = options.mask;
    this.longest = options.mask.longest;
  }

  get verdict(): 'masked' | 'abstain' | 'failed' {
    if (this.isDisabled) return 'failed';
    return this.hasMasked ? 'masked' : 'abstain';
  }

  /** Null if the mask failed and its gate fails open; throws if the gate fails closed. */
  find(text: string): readonly MaskedSpan[] | null {
    const startedMs = monotonicMs();
    let spans: unknown;
    try {
      spans = this.mask.find(text);
    } catch (cause) {
      this.addDuration(monotonicMs() - startedMs);
      return this.fail(cause);
    }
    this.addDuration(monotonicMs() - startedMs);
    try {
      return this.validate(spans, text.length);
    } catch (cause) {
      return this.fail(cause);
    }
  }

  private addDuration(milliseconds: number): void {
    this.milliseconds += milliseconds;
    if (milliseconds > this.options.timeoutMs) this.options.watch.slow(this.name, milliseconds);
  }

  checkLength(size: number): boolean {
    if (size <= MAX_MASKED_LENGTH) return true;
    this.fail(new MaskError(this.name, `its replacements are longer than ${MAX_MASKED_LENGTH} characters`));
    return false;
  }

  fail(cause: unknown): null {
    const failure =
      cause instanceof MaskError ? cause : new MaskError(this.name, thrownMessage(cause), { cause });
    if (!this.isDisabled) this.options.watch.failed(failure);
    this.isDisabled = true;
    if (this.options.onError === 'closed') throw failure;
    return null;
  }

  /** Validates spans from an extension, and reads each field only once. */
  private validate(spans: unknown, length: number): readonly MaskedSpan[] {
    if (!Array.isArray(spans)) throw this.invalidSpans(spans, 'find() returned no list');
    if (spans.length === 0) return NO_SPANS;
    const validSpans: MaskedSpan[] = [];
    let from = 0;
    for (const span of spans as readonly unknown[]) {
      if (typeof span !== 'object' || span === null) throw this.invalidSpans(span, 'a span is no object');
      const { start, end, text } = span as MaskedSpan;
      if (!Number.isInteger(start) || !Number.isInteger(end) || start < from || end <= start || end > length)
        throw this.invalidSpans(
          span,
          `a span from ${String(start)} to ${String(end)} has no place after the one before it`,
        );
      if (end - start > this.longest)
        throw this.invalidSpans(
          span,
          `a span of ${end - start} characters is longer than its longest, ${this.longest}`,
        );
      if (typeof text !== 'string' || text.length > MAX_REPLACEMENT_LENGTH)
        throw this.invalidSpans(
          span,
          `a replacement is no text of at most ${MAX_REPLACEMENT_LENGTH} characters`,
        );
      validSpans.push({ start, end, text });
      from = end;
    }
    return validSpans;
  }

  /** A promise in place of spans could reject, which must not end the process. */
  private invalidSpans(value: unknown, reason: string): MaskError {
    if (value instanceof Promise) value.catch(() => undefined);
    return new MaskError(this.name, reason);
  }
}

const NO_SPANS: readonly MaskedSpan[] = Object.freeze([]);
