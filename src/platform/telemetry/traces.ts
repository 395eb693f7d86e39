import type { IncomingHttpHeaders } from 'node:http';
import {
  type Context,
  defaultTextMapGetter,
  defaultTextMapSetter,
  ROOT_CONTEXT,
  type SpanContext,
  SpanKind,
  type TextMapPropagator,
  trace,
  TraceFlags,
} from '@opentelemetry/api';
import type { InstrumentationScope } from '@opentelemetry/core';
import type { Resource } from '@opentelemetry/resources';
import type { IdGenerator, Sampler, SpanProcessor } from '@opentelemetry/sdk-trace';
import { monotonicMs } from '../../kernel';
import { OpenSpan, type SpanHome, type SpanStart } from './open-span';

/** The parts of the SDK that spans are made with. */
export interface SpanParts {
  readonly sampler: Sampler;
  readonly ids: IdGenerator;
  readonly processor: SpanProcessor;
  readonly propagator: TextMapPropagator;
  readonly resource: Resource;
  readonly scope: InstrumentationScope;
}

/** `RECORD_AND_SAMPLED`; a constant of a package that is loaded only where traces are sent. */
const SAMPLED = 2;
const NOTHING = {};

/** Makes the spans of requests. */
export class Traces implements SpanHome {
  constructor(private readonly parts: SpanParts) {}

  /** A span without one above it in this process. Null: the sampler left it out. */
  begin(start: SpanStart, headers: IncomingHttpHeaders = NOTHING): OpenSpan | null {
    const { sampler, ids } = this.parts;
    const { name, kind } = start;
    const above = this.contextIn(headers);
    const parent = above === ROOT_CONTEXT ? undefined : trace.getSpanContext(above);
    const traceId = parent?.traceId ?? ids.generateTraceId();
    const { decision, traceState } = sampler.shouldSample(above, traceId, name, kinds[kind], NOTHING, []);
    if (Number(decision) !== SAMPLED) return null;
    const context = {
      traceId,
      spanId: ids.generateSpanId(),
      traceFlags: TraceFlags.SAMPLED,
      ...((traceState ?? parent?.traceState) && { traceState: traceState ?? parent?.traceState }),
    };
    return new OpenSpan(this, start, context, parent, Date.now() - monotonicMs());
  }

  /** A span below another one. */
  below(parent: OpenSpan, start: SpanStart): OpenSpan {
    const context = { ...parent.spanContext(), spanId: this.parts.ids.generateSpanId() };
    return new OpenSpan(this, start, context, parent.spanContext(), parent.clockOffset);
  }

  ended(span: OpenSpan): void {
    this.parts.processor.onEnd(span);
  }

  /** The header fields that tell another server of a span. */
  headersFor(context: SpanContext): Record<string, string> {
    const carrier: Record<string, string> = {};
    const above = trace.setSpanContext(ROOT_CONTEXT, context);
    this.parts.propagator.inject(above, carrier, defaultTextMapSetter);
    return carrier;
  }

  get resource(): Resource {
    return this.parts.resource;
  }

  get scope(): InstrumentationScope {
    return this.parts.scope;
  }

  private contextIn({ traceparent, tracestate }: IncomingHttpHeaders): Context {
    if (traceparent === undefined) return ROOT_CONTEXT;
    return this.parts.propagator.extract(ROOT_CONTEXT, { traceparent, tracestate }, defaultTextMapGetter);
  }
}

const kinds = {
  internal: SpanKind.INTERNAL,
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
} as const satisfies Record<SpanStart['kind'], SpanKind>;
