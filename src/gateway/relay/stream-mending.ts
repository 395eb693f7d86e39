import type { SseScanner, Usage } from '../../kernel';
import type { AnswerForm, JsonObject, Lack, StreamMender } from '../../protocol';
import { type Edit, memberEdits } from './edits';
import { ToldUsage } from './told-usage';

interface Charged {
  /** This usage is charged once the answer is whole. */
  readonly usage: () => Usage;
  /** The caller asked for an event with the usage, where its dialect has one only for those who ask. */
  readonly tellsUsage: boolean;
}

const nothing = Buffer.alloc(0);
const isPlain = /^[\w.]+$/;

/** Turns what a passing stream lacks into edits of its bytes. Events that lack nothing keep them. */
export class StreamMending {
  private readonly told: ToldUsage;
  private lacks: readonly Lack[] = [];
  /** It goes before the supplier's own terminator. */
  private untold: Edit | null = null;

  constructor(
    form: AnswerForm,
    private readonly mender: StreamMender,
    private readonly charged: Charged,
  ) {
    this.told = new ToldUsage(form);
  }

  mend(event: JsonObject): void {
    this.lacks = this.mender.mend(event);
  }

  /** They are edits of the event that was mended last. */
  edits(scanner: SseScanner): Edit[] {
    if (this.lacks.length === 0) return [];
    const json = scanner.data();
    return this.lacks.flatMap(({ path, members }) => memberEdits(json, path, members));
  }

  /** Events that are missing go before this one, with its name as a field of its own. */
  before(event: JsonObject, scanner: SseScanner): string {
    const { mender } = this;
    const name = mender.nameOf(event);
    if (name === null || scanner.hasField('event') || !isPlain.test(name)) return mender.before;
    return `${mender.before}event: ${name}\n`;
  }

  closes(event: JsonObject): boolean {
    return this.mender.closes(event);
  }

  usageEdits(event: JsonObject, json: Buffer): Edit[] {
    const place = this.mender.usagePlace(event);
    const isTold = place.held !== null || this.charged.tellsUsage || this.mender.closes(event);
    return isTold ? this.told.place(json, place) : [];
  }

  /** The place of the event with the usage, in front of the supplier's terminator. */
  beforeEnd(at: number): Edit {
    this.untold = { start: at, end: at, text: nothing };
    return this.untold;
  }

  /** Writes the usage. Answers the event with it that the stream lacks, where its terminator is missing too. */
  settle(facts: object | undefined): string {
    const usage = this.charged.usage();
    this.told.write(usage);
    if (!this.told.isEmpty || !this.charged.tellsUsage) return '';
    const event = this.mender.usageEvent(usage, facts) ?? '';
    if (this.untold === null) return event;
    this.untold.text = Buffer.from(event);
    return '';
  }
}
