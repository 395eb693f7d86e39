import { type Fault, fault, type Usage, type UsageReading, uuidv7 } from '../../kernel';
import { pick } from '../usage';
import { type EventSink, type Finish } from './events';
import { parseJsonText } from './fields';
import { type DialectName } from './request';
import { type ToolNames, type ToolOrigin } from './tool-names';

export interface EmissionOptions {
  readonly emit: EventSink;
  /** Maps the target's tool names back to the caller's. */
  readonly tools?: ToolNames;
  readonly textTool?: string;
}

/** Maximum number of characters of one response that are held until their turn. */
export const MAX_HELD_CHARACTERS = 16 * 1024 * 1024;

/** Handle of the tool whose arguments are the text of the response. */
const TEXT_TOOL = -1;

/**
 * All decoders emit through this class, which enforces the order that `CanonicalEvent` promises and emits nothing after
 * the end.
 */
export class Emission {
  started = false;
  ended = false;
  usage: UsageReading = { kind: 'absent' };
  private prose: 'text' | 'reasoning' | undefined;
  private tools = 0;
  private readonly calls = new Set<string>();
  private readonly openTools = new Set<number>();
  private hasTextTool = false;
  /** Arguments of functions that represent plain-text tools, buffered until they can be parsed. */
  private readonly wrapped = new Map<number, string>();

  constructor(private readonly options: EmissionOptions) {}

  start(id: string, model: string, usage?: Usage): void {
    if (this.started || this.ended) return;
    this.started = true;
    if (usage !== undefined) this.usage = { kind: 'ok', usage };
    this.options.emit({ type: 'message-start', id, model, usage });
  }

  text(text: string): void {
    if (text === '' || this.ended) return;
    this.openProse('text');
    this.options.emit({ type: 'text-delta', text });
  }

  reasoning(text: string): void {
    if (text === '' || this.ended) return;
    this.openProse('reasoning');
    this.options.emit({ type: 'reasoning-delta', text });
  }

  /** Opens the reasoning even if none of its text is shown. */
  signature(origin: DialectName, signature: string, redacted = false): void {
    if (this.ended) return;
    this.openProse('reasoning');
    this.options.emit({ type: 'reasoning-signature', origin, signature, ...(redacted ? { redacted } : {}) });
  }

  refusal(text: string): void {
    if (text === '' || this.ended) return;
    this.closeProse();
    this.options.emit({ type: 'refusal', text });
  }

  citation(origin: DialectName, value: unknown): void {
    if (!this.ended) this.options.emit({ type: 'citation', origin, value });
  }

  closeProse(): void {
    if (this.prose && !this.ended) {
      this.options.emit({ type: this.prose === 'text' ? 'text-end' : 'reasoning-end' });
    }
    this.prose = undefined;
  }

  /** `attributes` come from the supplier and add to those of the tool name. */
  openTool(id: string, name: string, attributes: Omit<ToolOrigin, 'name'> = {}): number {
    if (this.ended) return TEXT_TOOL;
    this.closeProse();
    if (name === this.options.textTool) {
      this.hasTextTool = true;
      return TEXT_TOOL;
    }
    const index = this.tools++;
    this.openTools.add(index);
    const origin = this.options.tools?.originOf(name) ?? { name };
    if (origin.custom && !attributes.custom) this.wrapped.set(index, '');
    // Results identify their call by its id alone.
    const callId = id === '' || this.calls.has(id) ? `call_${uuidv7().replaceAll('-', '')}` : id;
    this.calls.add(callId);
    this.options.emit({ type: 'tool-start', index, id: callId, ...origin, ...attributes });
    return index;
  }

  toolArguments(index: number, text: string): void {
    if (text === '' || this.ended) return;
    const buffered = this.wrapped.get(index);
    if (index === TEXT_TOOL) this.text(text);
    else if (buffered === undefined) this.options.emit({ type: 'tool-arguments-delta', index, text });
    else if (buffered.length + text.length <= MAX_HELD_CHARACTERS) this.wrapped.set(index, buffered + text);
    else this.fault(fault('provider_response_too_large'));
  }

  closeTool(index: number): void {
    if (index === TEXT_TOOL) this.closeProse();
    if (!this.openTools.delete(index) || this.ended) return;
    const buffered = this.wrapped.get(index);
    if (buffered !== undefined) this.emitUnwrapped(index, buffered);
    this.options.emit({ type: 'tool-end', index });
  }

  /** Later figures replace earlier ones. An unreadable report is kept for settlement and not shown to the caller. */
  report(reading: UsageReading): void {
    if (this.ended || reading.kind === 'absent') return;
    this.usage = reading;
    if (reading.kind === 'ok') this.options.emit({ type: 'usage-update', usage: reading.usage });
  }

  end(finish: Finish, stopSequence?: string): void {
    if (this.ended) return;
    this.closeProse();
    for (const index of this.openTools) this.closeTool(index);
    this.options.emit({ type: 'message-end', finish: this.corrected(finish), stopSequence });
    this.ended = true;
  }

  fault(fault: Fault): void {
    if (this.ended) return;
    this.ended = true;
    this.options.emit({ type: 'fault', fault });
  }

  /** Calls decide, not the finish reason: some suppliers end a forced call with "stop". */
  private corrected(finish: Finish): Finish {
    const { unified, raw } = finish;
    if (this.tools > 0 && (unified === 'stop' || unified === 'unknown'))
      return { unified: 'tool-calls', raw };
    if (this.tools === 0 && this.hasTextTool && unified === 'tool-calls') return { unified: 'stop', raw };
    return finish;
  }

  /** Arguments of a model that ignored the schema are passed on unchanged. */
  private emitUnwrapped(index: number, buffered: string): void {
    const input = pick(parseJsonText(buffered), 'input');
    const text = typeof input === 'string' ? input : buffered;
    if (text !== '') this.options.emit({ type: 'tool-arguments-delta', index, text });
  }

  private openProse(kind: 'text' | 'reasoning'): void {
    if (this.prose === kind) return;
    this.closeProse();
    this.prose = kind;
    this.options.emit({ type: kind === 'text' ? 'text-start' : 'reasoning-start' });
  }
}
