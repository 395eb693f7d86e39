import { type Fault, type UsageReading } from '../kernel';
import {
  type DialectName,
  type JsonObject,
  type OmittedMember,
  type StreamWatcher,
  type SupplierError,
} from './canonical';
import { addStoredIds, type StoredContentKind } from '../vendors';
import { ObservedToolUses } from './fees';
import { isRecord } from './usage';

/** More than any response calls at once. */
const MAX_CALLS = 256;
/** Maximum number of remembered reasoning signatures per response. */
const MAX_SEALS = 256;

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
  readonly stored = new Map<string, StoredContentKind>();
  readonly toolUses: ObservedToolUses;
  private rawUsage: unknown = undefined;

  constructor(private readonly dialect: DialectName) {
    this.toolUses = new ObservedToolUses(dialect);
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
    this.toolUses.read(event);
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

  /** The latest valid report applies. */
  protected mergeUsage(earlier: unknown, later: unknown): unknown {
    return isRecord(later) || !isRecord(earlier) ? later : earlier;
  }

  protected noteCall(id: unknown): void {
    if (typeof id === 'string' && id !== '' && this.calls.size < MAX_CALLS) this.calls.add(id);
  }

  protected noteSeal(text: unknown): void {
    if (typeof text === 'string' && text !== '' && this.seals.length < MAX_SEALS) this.seals.push(text);
  }

  protected noteStoredIds(event: JsonObject): void {
    addStoredIds(this.stored, this.dialect, event);
  }

  protected countOutput(text: unknown): void {
    if (typeof text !== 'string' || text === '') return;
    this.hasOutput = true;
    this.outputBytes += Buffer.byteLength(text);
  }
}
