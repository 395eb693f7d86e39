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
import { OpenSpan, type SpanFactory, type SpanStart } from './open-span';

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
const NO_HEADERS = {};

export class Traces implements SpanFactory {
  constructor(private readonly parts: SpanParts) {}

  /** Starts a span without a parent in this process; null if the sampler drops it. */
  startTrace(start: SpanStart, headers: IncomingHttpHeaders = NO_HEADERS): OpenSpan | null {
    const { sampler, ids } = this.parts;
    const { name, kind } = start;
    const parentContext = this.contextIn(headers);
    const parent = parentContext === ROOT_CONTEXT ? undefined : trace.getSpanContext(parentContext);
    const traceId = parent?.traceId ?? ids.generateTraceId();
    const { decision, traceState } = sampler.shouldSample(
      parentContext,
      traceId,
      name,
      kinds[kind],
      NO_HEADERS,
      [],
    );
    if (Number(decision) !== SAMPLED) return null;
    const context = {
      traceId,
      spanId: ids.generateSpanId(),
      traceFlags: TraceFlags.SAMPLED,
      ...((traceState ?? parent?.traceState) && { traceState: traceState ?? parent?.traceState }),
    };
    return new OpenSpan(this, start, context, parent, Date.now() - monotonicMs());
  }

  createChild(parent: OpenSpan, start: SpanStart): OpenSpan {
    const context = { ...parent.spanContext(), spanId: this.parts.ids.generateSpanId() };
    return new OpenSpan(this, start, context, parent.spanContext(), parent.clockOffset);
  }

  onSpanEnd(span: OpenSpan): void {
    this.parts.processor.onEnd(span);
  }

  headersFor(context: SpanContext): Record<string, string> {
    const carrier: Record<string, string> = {};
    const parentContext = trace.setSpanContext(ROOT_CONTEXT, context);
    this.parts.propagator.inject(parentContext, carrier, defaultTextMapSetter);
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
