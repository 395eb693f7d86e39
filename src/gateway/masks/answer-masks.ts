import type { GateRecord } from '../../audit';
import { JsonMask } from './json-mask';
import type { MaskRun } from './mask-run';
import { type PieceMask, TextMask } from './text-mask';

/** The masks that apply to one answer. */
export class AnswerMasks {
  /** How many whole texts were changed so far, and in how many of them something was masked. */
  changes = 0;
  hits = 0;

  constructor(
    private readonly runs: readonly MaskRun[],
    /** Gets each verdict once. */
    private readonly tell: (verdict: GateRecord) => void,
  ) {}

  /** Nothing more of the answer comes. */
  over(): void {
    for (const run of this.runs) this.tell(verdictOf(run));
  }

  text(): PieceMask {
    return new TextMask(this.runs);
  }

  jsonText(): PieceMask {
    return new JsonMask(this.runs);
  }

  whole(text: string): string {
    return this.all(this.text(), text);
  }

  /** The same as its pieces come to, in which every escape is written in one way. */
  wholeJson(text: string): string {
    return this.all(this.jsonText(), text);
  }

  private all(mask: PieceMask, text: string): string {
    const shown = mask.push(text) + mask.end();
    if (shown !== text) this.changes += 1;
    if (mask.changed) this.hits += 1;
    return shown;
  }
}

const verdictOf = ({ name, verdict, milliseconds }: MaskRun): GateRecord => ({
  name,
  stage: 'answer',
  verdict,
  ms: Math.round(milliseconds * 1_000) / 1_000,
});
