import type { Attributes, HrTime, Link, SpanContext, SpanStatus } from '@opentelemetry/api';
import type { ReadableSpan, TimedEvent } from '@opentelemetry/sdk-trace';
import { monotonicMs } from '../../kernel';

export type Value = string | number | boolean | readonly string[];
export type Told = Readonly<Record<string, Value>>;

export interface SpanStart {
  readonly name: string;
  readonly kind: 'internal' | 'server' | 'client';
  /** What many spans have in common: one object for all of them, which is written into bytes once. */
  readonly shared?: Told;
  /** By the clock of `monotonicMs`; left out: now. */
  readonly startedMs?: number;
  /** It follows this one, which stands beside it in the trace. */
  readonly after?: { readonly span: OpenSpan; readonly attributes: Told };
}

/** Where spans come from, and go to once they have ended. */
export interface SpanHome {
  readonly resource: ReadableSpan['resource'];
  readonly scope: ReadableSpan['instrumentationScope'];
  below(parent: OpenSpan, start: SpanStart): OpenSpan;
  ended(span: OpenSpan): void;
  headersFor(context: SpanContext): Record<string, string>;
}

export interface ToldEvent {
  readonly name: string;
  readonly at: number;
  readonly attributes: Told;
}

export const NOTHING_SHARED: Told = Object.freeze({});

/**
 * A span as the SDK's processor and exporters read one. Those that the SDK makes check and copy every attribute, which
 * costs several times as much.
 */
export class OpenSpan implements ReadableSpan {
  readonly name: string;
  readonly shared: Told;
  /** Names and values by turns. */
  readonly own: Value[] = [];
  readonly told: ToldEvent[] = [];
  readonly after: SpanStart['after'];
  /** Milliseconds since the epoch, with fractions. */
  readonly startedAt: number;
  endedAt = 0;
  isError = false;
  private readonly of: SpanStart['kind'];

  constructor(
    private readonly home: SpanHome,
    { name, kind, shared, startedMs, after }: SpanStart,
    private readonly context: SpanContext,
    readonly parentSpanContext: SpanContext | undefined,
    /** What the clock of `monotonicMs` is behind the wall's: one for a whole trace, so that its times agree. */
    readonly clockOffset: number,
  ) {
    this.name = name;
    this.of = kind;
    this.shared = shared ?? NOTHING_SHARED;
    this.startedAt = (startedMs ?? monotonicMs()) + clockOffset;
    this.after = after;
  }

  child(start: SpanStart): OpenSpan {
    return this.home.below(this, start);
  }

  /** What is undefined is not told. */
  set(name: string, value: Value | undefined): void {
    if (value !== undefined) this.own.push(name, value);
  }

  event(name: string, attributes: Told): void {
    this.told.push({ name, at: monotonicMs() + this.clockOffset, attributes });
  }

  failed(): void {
    this.isError = true;
  }

  /** By the clock of `monotonicMs`; left out: now. It ends once. */
  end(endedMs = monotonicMs()): void {
    this.endedAt = Math.max(this.startedAt, endedMs + this.clockOffset);
    this.home.ended(this);
  }

  /** The header fields that tell another server of it. */
  headers(): Record<string, string> {
    return this.home.headersFor(this.context);
  }

  spanContext(): SpanContext {
    return this.context;
  }

  get kind(): ReadableSpan['kind'] {
    return { internal: 0, server: 1, client: 2 }[this.of];
  }

  get attributes(): Attributes {
    const all: Record<string, Value> = { ...this.shared };
    for (let at = 0; at < this.own.length; at += 2) all[String(this.own[at])] = this.own[at + 1]!;
    return all;
  }

  get events(): TimedEvent[] {
    return this.told.map(({ name, at, attributes }) => ({
      name,
      time: hrTime(at),
      attributes: attributes,
      droppedAttributesCount: 0,
    }));
  }

  get links(): Link[] {
    const { after } = this;
    if (after === undefined) return [];
    return [{ context: after.span.spanContext(), attributes: after.attributes }];
  }

  get status(): SpanStatus {
    return { code: this.isError ? 2 : 0 };
  }

  get startTime(): HrTime {
    return hrTime(this.startedAt);
  }

  get endTime(): HrTime {
    return hrTime(this.endedAt);
  }

  get duration(): HrTime {
    return hrTime(this.endedAt - this.startedAt);
  }

  get ended(): boolean {
    return this.endedAt > 0;
  }

  get resource(): ReadableSpan['resource'] {
    return this.home.resource;
  }

  get instrumentationScope(): ReadableSpan['instrumentationScope'] {
    return this.home.scope;
  }

  get droppedAttributesCount(): number {
    return 0;
  }

  get droppedEventsCount(): number {
    return 0;
  }

  get droppedLinksCount(): number {
    return 0;
  }
}

export const hrTime = (milliseconds: number): HrTime => {
  const seconds = Math.floor(milliseconds / 1_000);
  return [seconds, Math.round((milliseconds - seconds * 1_000) * 1e6)];
};
