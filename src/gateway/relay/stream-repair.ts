import type { SseScanner, Usage } from '../../kernel';
import type { ResponseKind, JsonObject, EventAddition, StreamNormalizer } from '../../protocol';
import { type StreamEdit, memberEdits } from './stream-edits';
import { FinalUsage } from './final-usage';

interface UsageReporting {
  readonly usage: () => Usage;
  readonly tellsUsage: boolean;
}

const nothing = Buffer.alloc(0);
const isPlain = /^[\w.]+$/;

/** Turns missing parts of a passing stream into byte edits. Complete events stay unchanged. */
export class StreamRepair {
  private readonly finalUsage: FinalUsage;
  private gaps: readonly EventAddition[] = [];
  /** Inserted before the supplier's own terminator. */
  private usageEventEdit: StreamEdit | null = null;

  constructor(
    form: ResponseKind,
    private readonly repairer: StreamNormalizer,
    private readonly charged: UsageReporting,
  ) {
    this.finalUsage = new FinalUsage(form);
  }

  repair(event: JsonObject): void {
    this.gaps = this.repairer.normalise(event);
  }

  edits(scanner: SseScanner): StreamEdit[] {
    if (this.gaps.length === 0) return [];
    const json = scanner.data();
    return this.gaps.flatMap(({ path, members }) => memberEdits(json, path, members));
  }

  /** Missing events go before this one, with its name as an SSE field. */
  before(event: JsonObject, scanner: SseScanner): string {
    const { repairer: mender } = this;
    const name = mender.eventName(event);
    if (name === null || scanner.hasField('event') || !isPlain.test(name)) return mender.preceding;
    return `${mender.preceding}event: ${name}\n`;
  }

  closes(event: JsonObject): boolean {
    return this.repairer.isFinal(event);
  }

  usageEdits(event: JsonObject, json: Buffer): StreamEdit[] {
    const usagePlace = this.repairer.usageLocation(event);
    const isReported =
      usagePlace.reported !== null || this.charged.tellsUsage || this.repairer.isFinal(event);
    return isReported ? this.finalUsage.reserve(json, usagePlace) : [];
  }

  beforeEnd(offset: number): StreamEdit {
    this.usageEventEdit = { start: offset, end: offset, text: nothing };
    return this.usageEventEdit;
  }

  /** Writes the usage. Returns the usage event if the stream lacks it and its terminator is missing too. */
  writeUsage(facts: object | undefined): string {
    const usage = this.charged.usage();
    this.finalUsage.write(usage);
    if (!this.finalUsage.isEmpty || !this.charged.tellsUsage) return '';
    const event = this.repairer.usageEvent(usage, facts) ?? '';
    if (this.usageEventEdit === null) return event;
    this.usageEventEdit.text = Buffer.from(event);
    return '';
  }
}
