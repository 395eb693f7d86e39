import type { Attributes, HrTime, Link, SpanContext, SpanStatus } from '@opentelemetry/api';
import type { ReadableSpan, TimedEvent } from '@opentelemetry/sdk-trace';
import { monotonicMs } from '../../kernel';

export type SpanValue = string | number | boolean | readonly string[];
export type SpanAttributes = Readonly<Record<string, SpanValue>>;

export interface SpanStart {
  readonly name: string;
  readonly kind: 'internal' | 'server' | 'client';
  /** Attributes shared by many spans: one object for all of them, which is serialised once. */
  readonly shared?: SpanAttributes;
  /** By the clock of `monotonicMs`; defaults to now. */
  readonly startedMs?: number;
  /** A preceding span next to this one in the trace. */
  readonly after?: { readonly span: OpenSpan; readonly attributes: SpanAttributes };
}

/** Creates spans, and receives them when they have ended. */
export interface SpanFactory {
  readonly resource: ReadableSpan['resource'];
  readonly scope: ReadableSpan['instrumentationScope'];
  createChild(parent: OpenSpan, start: SpanStart): OpenSpan;
  onSpanEnd(span: OpenSpan): void;
  headersFor(context: SpanContext): Record<string, string>;
}

export interface SpanEvent {
  readonly name: string;
  readonly at: number;
  readonly attributes: SpanAttributes;
}

export const NO_SHARED_ATTRIBUTES: SpanAttributes = Object.freeze({});

/**
 * A span as the SDK's processor and exporters read it. The SDK's own spans check and copy every attribute, which costs
 * several times as much.
 */
export class OpenSpan implements ReadableSpan {
  readonly name: string;
  readonly shared: SpanAttributes;
  /** Names and values, alternating. */
  readonly ownAttributes: SpanValue[] = [];
  readonly recordedEvents: SpanEvent[] = [];
  readonly after: SpanStart['after'];
  /** Milliseconds since the epoch, with fractions. */
  readonly startedAt: number;
  endedAt = 0;
  isError = false;
  private readonly startKind: SpanStart['kind'];

  constructor(
    private readonly factory: SpanFactory,
    { name, kind, shared, startedMs, after }: SpanStart,
    private readonly context: SpanContext,
    readonly parentSpanContext: SpanContext | undefined,
    /**
     * Offset of the wall clock from the clock of `monotonicMs`; the same for an entire trace, so that its times agree.
     */
    readonly clockOffset: number,
  ) {
    this.name = name;
    this.startKind = kind;
    this.shared = shared ?? NO_SHARED_ATTRIBUTES;
    this.startedAt = (startedMs ?? monotonicMs()) + clockOffset;
    this.after = after;
  }

  child(start: SpanStart): OpenSpan {
    return this.factory.createChild(this, start);
  }

  set(name: string, value: SpanValue | undefined): void {
    if (value !== undefined) this.ownAttributes.push(name, value);
  }

  event(name: string, attributes: SpanAttributes): void {
    this.recordedEvents.push({ name, at: monotonicMs() + this.clockOffset, attributes });
  }

  markFailed(): void {
    this.isError = true;
  }

  /** Ends the span, once; by the clock of `monotonicMs`, defaulting to now. */
  end(endedMs = monotonicMs()): void {
    this.endedAt = Math.max(this.startedAt, endedMs + this.clockOffset);
    this.factory.onSpanEnd(this);
  }

  /** Header fields that announce the span to another server. */
  headers(): Record<string, string> {
    return this.factory.headersFor(this.context);
  }

  spanContext(): SpanContext {
    return this.context;
  }

  get kind(): ReadableSpan['kind'] {
    return { internal: 0, server: 1, client: 2 }[this.startKind];
  }

  get attributes(): Attributes {
    const all: Record<string, SpanValue> = { ...this.shared };
    for (let at = 0; at < this.ownAttributes.length; at += 2)
      all[String(this.ownAttributes[at])] = this.ownAttributes[at + 1]!;
    return all;
  }

  get events(): TimedEvent[] {
    return this.recordedEvents.map(({ name, at, attributes }) => ({
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
    return this.factory.resource;
  }

  get instrumentationScope(): ReadableSpan['instrumentationScope'] {
    return this.factory.scope;
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
