import type { MaskRun } from './mask-run';

/** A text that goes out in pieces, each as soon as nothing that may still come can change it. */
export interface PieceMask {
  /** Takes the next piece and answers what can go out. */
  push(piece: string): string;
  /** The text is over, or pauses: what was held back. */
  end(): string;
  /** Something of it was replaced. */
  readonly changed: boolean;
}

/** A stage looks at so many characters before it moves on, however many come at once. */
const SEGMENT = 128;

/** Every mask over one text, each over what the one before made of it. */
export class TextMask implements PieceMask {
  private readonly stages: readonly Stage[];

  constructor(runs: readonly MaskRun[]) {
    this.stages = runs.map((run) => new Stage(run));
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
 * One mask over one text. Whether a span begins at a place is decided once `longest` characters behind it are there. It
 * is decided from a place in the text that depends on the text alone: pieces of any size give the same result.
 */
class Stage {
  changed = false;
  /** The text from where looks begin: the context, and what was not decided yet. */
  private window = '';
  /** How much of the window has gone out, or was replaced. */
  private sent = 0;
  /** The window begins anew once everything before this place is decided. */
  private segmentEnd: number;
  private readonly segment: number;
  /** The spans in what was looked at last. */
  private starts: number[] = [];
  private ends: number[] = [];

  constructor(private readonly run: MaskRun) {
    this.segment = Math.max(run.longest, SEGMENT);
    this.segmentEnd = this.segment;
  }

  push(piece: string, isLast: boolean): string {
    if (this.run.isOut) return this.rest() + piece;
    if (piece === '' && !isLast) return '';
    this.window += piece;
    const { longest } = this.run;
    let out = '';
    for (;;) {
      const segmentEnd = this.wholeCharacters(this.segmentEnd, 1);
      const isFull = this.window.length >= segmentEnd + longest;
      const looked = isFull ? this.window.slice(0, segmentEnd + longest) : this.window;
      const cut = isFull ? segmentEnd : looked.length - (isLast ? 0 : longest);
      // What is held back needs no look.
      if (!isFull && !isLast && cut <= this.sent) return out;
      const written = this.write(looked, cut);
      if (written === null) return out + this.rest();
      out += written;
      if (!this.run.mayWrite(out.length)) return out + this.rest();
      if (!isFull) return out;
      this.moveOn();
    }
  }

  /** What can go out up to the cut; null where the mask failed. */
  private write(looked: string, cut: number): string | null {
    if (looked.length === 0) return '';
    const spans = this.run.find(looked);
    if (spans === null) return null;
    this.starts = [];
    this.ends = [];
    let out = '';
    for (const { start, end, text } of spans) {
      if (start >= cut) break;
      this.starts.push(start);
      this.ends.push(end);
      if (end <= this.sent) continue;
      out += looked.slice(this.sent, Math.max(start, this.sent)) + text;
      this.sent = end;
      this.changed = this.run.hasMasked = true;
    }
    if (cut <= this.sent) return out;
    const to = cut === looked.length ? cut : this.wholeCharacters(cut, -1);
    if (to > this.sent) out += looked.slice(this.sent, to);
    this.sent = Math.max(this.sent, to);
    return out;
  }

  /** Begins the window anew, `longest` characters before what is undecided, and never inside a span. */
  private moveOn(): void {
    let base = Math.max(0, this.sent - this.run.longest);
    for (let at = this.starts.length - 1; at >= 0; at -= 1)
      if (this.starts[at]! < base && base < this.ends[at]!) base = this.starts[at]!;
    base = this.wholeCharacters(base, -1);
    this.window = this.window.slice(base);
    this.sent -= base;
    this.segmentEnd = this.sent + this.segment;
  }

  /** A place beside it that does not part the halves of a character. */
  private wholeCharacters(at: number, step: 1 | -1): number {
    const before = this.window.charCodeAt(at - 1);
    return before >= 0xd800 && before <= 0xdbff ? at + step : at;
  }

  private rest(): string {
    const rest = this.window.slice(this.sent);
    this.window = '';
    this.sent = 0;
    return rest;
  }
}
