import { type Fault, type UsageReading } from '../kernel';
import {
  type DialectName,
  type JsonObject,
  type OmittedMember,
  type StreamWatcher,
  type SupplierError,
} from './canonical';
import { addStoredIds, type StoredKind } from '../vendors';
import { ServedUses } from './fees';
import { isRecord } from './usage';

/** No answer calls more tools at once. */
const MOST_CALLS = 256;
/** Nor has it more reasoning with a signature that is remembered. */
const MOST_SEALS = 256;

/** The watchers of the three dialects share this. */
export abstract class EventWatcher implements StreamWatcher {
  abstract readonly modelPath: readonly string[];
  abstract readonly terminator: string | null;
  outputBytes = 0;
  coveredBytes = 0;
  hasOutput = false;
  finishReason: string | null = null;
  ended = false;
  reported = false;
  isBare = false;
  omitted: OmittedMember | null = null;
  readonly calls = new Set<string>();
  readonly seals: string[] = [];
  readonly stored = new Map<string, StoredKind>();
  readonly served: ServedUses;
  private rawUsage: unknown = undefined;

  constructor(private readonly dialect: DialectName) {
    this.served = new ServedUses(dialect);
  }

  get usage(): UsageReading {
    return this.normaliseUsage(this.rawUsage);
  }

  get finished(): boolean {
    return this.finishReason !== null;
  }

  watch(event: JsonObject): SupplierError | undefined {
    this.reported = false;
    const failure = this.failureIn(event);
    if (failure !== undefined) return failure;
    this.read(event);
    this.served.read(event);
    const usage = this.usageIn(event);
    if (usage === undefined || usage === null) return undefined;
    this.reported = true;
    this.rawUsage = this.mergeUsage(this.rawUsage, usage);
    this.coveredBytes = this.outputBytes;
    return undefined;
  }

  watchText(_text: string): boolean {
    return false;
  }

  abstract failureEvent(problem: Fault, requestId: string, model: string, echo?: JsonObject): string;
  protected abstract failureIn(event: JsonObject): SupplierError | undefined;
  protected abstract read(event: JsonObject): void;
  protected abstract usageIn(event: JsonObject): unknown;
  protected abstract normaliseUsage(raw: unknown): UsageReading;

  /** The latest report stands, unless it is none. */
  protected mergeUsage(earlier: unknown, later: unknown): unknown {
    return isRecord(later) || !isRecord(earlier) ? later : earlier;
  }

  protected called(id: unknown): void {
    if (typeof id === 'string' && id !== '' && this.calls.size < MOST_CALLS) this.calls.add(id);
  }

  protected sealed(text: unknown): void {
    if (typeof text === 'string' && text !== '' && this.seals.length < MOST_SEALS) this.seals.push(text);
  }

  protected handsOut(event: JsonObject): void {
    addStoredIds(this.stored, this.dialect, event);
  }

  protected wrote(text: unknown): void {
    if (typeof text !== 'string' || text === '') return;
    this.hasOutput = true;
    this.outputBytes += Buffer.byteLength(text);
  }
}
