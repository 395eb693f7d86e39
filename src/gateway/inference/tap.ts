import { type Fault, fault, monotonicMs, SseScanner, type UsageReading } from '../../kernel';
import type { Dialect } from '../../protocol';
import { type TapRules, tapRules } from './tap-rules';

/**
 * Reads along while a stream passes: usage, why it stopped, how much text there was. Most events are text and
 * nothing else, and are not even parsed.
 */
export class Tap {
  ended = false;
  finishReason: string | null = null;
  textBytes = 0;
  firstTextAt: number | null = null;
  failure: Fault | null = null;
  private rawUsage: unknown = undefined;
  private readonly rules: TapRules;
  private readonly scanner: SseScanner;
  private forwarded: Buffer[] = [];

  constructor(
    private readonly dialect: Dialect,
    private readonly hidesUsage: boolean,
  ) {
    this.rules = tapRules[dialect.name];
    this.scanner = hidesUsage
      ? new SseScanner({
          everyBlock: true,
          onEvent: ({ data, raw }) => {
            const hidden = data !== null && this.read(data);
            if (!hidden) this.forwarded.push(raw);
          },
        })
      : new SseScanner({ onData: (data) => void this.read(data) });
  }

  /** Reads a chunk and answers what of it goes on to the caller. */
  take(chunk: Buffer): Buffer {
    const tooLarge = this.scanner.push(chunk);
    if (tooLarge !== undefined) this.failure ??= tooLarge;
    if (!this.hidesUsage) return chunk;
    const parts = this.forwarded;
    this.forwarded = [];
    return parts.length === 1 && parts[0] !== undefined ? parts[0] : Buffer.concat(parts);
  }

  get usage(): UsageReading {
    return this.rules.normalise(this.rawUsage);
  }

  /** True for an event that the caller did not ask for. */
  private read(data: Buffer): boolean {
    if (this.rules.ends(data)) this.ended = true;
    this.countText(data);
    if (!this.rules.worthParsing.some((mark) => data.includes(mark))) return false;
    const event = parse(data);
    if (event === null) return false;
    const usage = this.rules.findUsage(event);
    if (usage !== undefined && usage !== null) this.rawUsage = this.rules.mergeUsage(this.rawUsage, usage);
    const reason = this.rules.finishReason(event);
    if (typeof reason === 'string') this.finishReason = reason;
    this.noticeError(event);
    return Array.isArray(event.choices) && event.choices.length === 0 && usage !== undefined;
  }

  private noticeError(event: Readonly<Record<string, unknown>>): void {
    const error = this.dialect.readError(event);
    if (error !== undefined) this.failure ??= fault('stream_error', { details: { supplier: error.message } });
  }

  /** How much text there was, in case nobody says at the end; read without parsing. */
  private countText(data: Buffer): void {
    for (const mark of this.rules.textMarks) {
      const found = data.indexOf(mark);
      if (found === -1) continue;
      const start = found + mark.length;
      const end = data.indexOf('"', start);
      if (end <= start) continue;
      this.firstTextAt ??= monotonicMs();
      this.textBytes += end - start;
      return;
    }
  }
}

function parse(data: Buffer): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(data.toString('utf8'));
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}
