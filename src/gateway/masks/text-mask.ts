import type { MaskRun } from './mask-run';

/** Masks a text in pieces, each forwarded once no later text can change it. */
export interface PieceMask {
  push(piece: string): string;
  end(): string;
  readonly changed: boolean;
}

/** Minimum length of a search window's segment, whatever the size of pieces. */
const MIN_SEGMENT_LENGTH = 128;

/** Runs all masks over one text, each on the output of the previous one. */
export class TextMask implements PieceMask {
  private readonly stages: readonly MaskStage[];

  constructor(runs: readonly MaskRun[]) {
    this.stages = runs.map((run) => new MaskStage(run));
  }

  get changed(): boolean {
    return this.stages.some(({ changed }) => changed);
  }

  push(piece: string): string {
    let text = piece;
    for (const stage of this.stages) text = stage.push(text, false);
    return text;
  }

  end(): string {
    let text = '';
    for (const stage of this.stages) text = stage.push(text, true);
    return text;
  }
}

/**
 * Runs one mask over one text; a span's start is decided once `longest` more characters have arrived. Windows depend
 * only on the text, so that pieces of any size give the same result.
 */
class MaskStage {
  changed = false;
  private window = '';
  private sent = 0;
  /** The window moves on once everything before this position is decided. */
  private segmentEnd: number;
  private readonly segment: number;
  private starts: number[] = [];
  private ends: number[] = [];

  constructor(private readonly run: MaskRun) {
    this.segment = Math.max(run.longest, MIN_SEGMENT_LENGTH);
    this.segmentEnd = this.segment;
  }

  push(piece: string, isLast: boolean): string {
    if (this.run.isDisabled) return this.takeRest() + piece;
    if (piece === '' && !isLast) return '';
    this.window += piece;
    const { longest } = this.run;
    let out = '';
    for (;;) {
      const segmentEnd = this.alignToCharacter(this.segmentEnd, 1);
      const isFull = this.window.length >= segmentEnd + longest;
      const searched = isFull ? this.window.slice(0, segmentEnd + longest) : this.window;
      const cut = isFull ? segmentEnd : searched.length - (isLast ? 0 : longest);
      // Text that stays held back needs no search.
      if (!isFull && !isLast && cut <= this.sent) return out;
      const masked = this.maskUpTo(searched, cut);
      if (masked === null) return out + this.takeRest();
      out += masked;
      if (!this.run.checkLength(out.length)) return out + this.takeRest();
      if (!isFull) return out;
      this.moveOn();
    }
  }

  private maskUpTo(searched: string, cut: number): string | null {
    if (searched.length === 0) return '';
    const spans = this.run.find(searched);
    if (spans === null) return null;
    this.starts = [];
    this.ends = [];
    let out = '';
    for (const { start, end, text } of spans) {
      if (start >= cut) break;
      this.starts.push(start);
      this.ends.push(end);
      if (end <= this.sent) continue;
      out += searched.slice(this.sent, Math.max(start, this.sent)) + text;
      this.sent = end;
      this.changed = this.run.hasMasked = true;
    }
    if (cut <= this.sent) return out;
    const to = cut === searched.length ? cut : this.alignToCharacter(cut, -1);
    if (to > this.sent) out += searched.slice(this.sent, to);
    this.sent = Math.max(this.sent, to);
    return out;
  }

  /** Moves the window to `longest` characters before the undecided text, but never inside a span. */
  private moveOn(): void {
    let base = Math.max(0, this.sent - this.run.longest);
    for (let index = this.starts.length - 1; index >= 0; index -= 1)
      if (this.starts[index]! < base && base < this.ends[index]!) base = this.starts[index]!;
    base = this.alignToCharacter(base, -1);
    this.window = this.window.slice(base);
    this.sent -= base;
    this.segmentEnd = this.sent + this.segment;
  }

  private alignToCharacter(position: number, step: 1 | -1): number {
    const previousCode = this.window.charCodeAt(position - 1);
    return previousCode >= 0xd800 && previousCode <= 0xdbff ? position + step : position;
  }

  private takeRest(): string {
    const rest = this.window.slice(this.sent);
    this.window = '';
    this.sent = 0;
    return rest;
  }
}
