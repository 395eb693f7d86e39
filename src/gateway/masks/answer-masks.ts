import type { GateRecord } from '../../audit';
import { JsonMask } from './json-mask';
import type { MaskRun } from './mask-run';
import { type PieceMask, TextMask } from './text-mask';

export class AnswerMasks {
  changes = 0;
  hits = 0;

  constructor(
    private readonly runs: readonly MaskRun[],
    private readonly report: (verdict: GateRecord) => void,
  ) {}

  reportVerdicts(): void {
    for (const run of this.runs) this.report(verdictOf(run));
  }

  createTextMask(): PieceMask {
    return new TextMask(this.runs);
  }

  createJsonMask(): PieceMask {
    return new JsonMask(this.runs);
  }

  maskText(text: string): string {
    return this.maskAll(this.createTextMask(), text);
  }

  /** Masks a complete JSON text. Writes escapes as a streamed text would, in one canonical form. */
  maskJson(text: string): string {
    return this.maskAll(this.createJsonMask(), text);
  }

  private maskAll(mask: PieceMask, text: string): string {
    const maskedText = mask.push(text) + mask.end();
    if (maskedText !== text) this.changes += 1;
    if (mask.changed) this.hits += 1;
    return maskedText;
  }
}

const verdictOf = ({ name, verdict, milliseconds }: MaskRun): GateRecord => ({
  name,
  stage: 'answer',
  verdict,
  ms: Math.round(milliseconds * 1_000) / 1_000,
});
