import { W3CTraceContextPropagator } from '@opentelemetry/core';
import { ProtobufTraceSerializer } from '@opentelemetry/otlp-transformer';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { AlwaysOnSampler, NoopSpanProcessor, RandomIdGenerator } from '@opentelemetry/sdk-trace';
import fc from 'fast-check';
import type { OpenSpan, SpanAttributes, SpanValue } from '../../../src/platform/telemetry/open-span';
import { traceRequest as written } from '../../../src/platform/telemetry/trace-request';
import { Traces } from '../../../src/platform/telemetry/traces';
import { decode, traceRequest } from '../../support/otlp-messages';

const traces = new Traces({
  sampler: new AlwaysOnSampler(),
  ids: new RandomIdGenerator(),
  processor: new NoopSpanProcessor(),
  propagator: new W3CTraceContextPropagator(),
  resource: resourceFromAttributes({ 'service.name': 'tést', 'a.number': 1.5 }),
  scope: { name: 'switchboard', version: '1.2.3' },
});

const value: fc.Arbitrary<SpanValue> = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 300 }),
  fc.string({ maxLength: 80 }),
  fc.boolean(),
  fc.nat(),
  fc.maxSafeNat(),
  fc.double({ noNaN: true }).filter((number) => !Number.isInteger(number)),
  fc.array(fc.string({ unit: 'grapheme' }), { minLength: 1, maxLength: 4 }),
);
const attributes: fc.Arbitrary<SpanAttributes> = fc.dictionary(fc.stringMatching(/^[a-z._]{1,40}$/), value, {
  maxKeys: 8,
});
interface SpanShape {
  readonly name: string;
  readonly kind: 'internal' | 'server' | 'client';
  readonly shared: SpanAttributes;
  readonly own: SpanAttributes;
  readonly events: readonly SpanAttributes[];
  readonly link: SpanAttributes | null;
  readonly isError: boolean;
  readonly isRemote: boolean;
}

const shape: fc.Arbitrary<SpanShape> = fc.record({
  name: fc.string({ unit: 'grapheme', minLength: 1 }),
  kind: fc.constantFrom<SpanShape['kind'][]>('internal', 'server', 'client'),
  shared: attributes,
  own: attributes,
  events: fc.array(attributes, { maxLength: 2 }),
  link: fc.option(attributes),
  isError: fc.boolean(),
  isRemote: fc.boolean(),
});

function spanOf({ name, kind, shared, own, events, link, isError, isRemote }: SpanShape): OpenSpan[] {
  const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
  const top = traces.startTrace(
    { name, kind, shared },
    isRemote ? { traceparent, tracestate: 'one=1,two=2' } : {},
  )!;
  // Attributes set twice appear once in the other serialiser.
  for (const [key, each] of Object.entries(own)) if (!(key in shared)) top.set(key, each);
  for (const each of events) top.event('an event', each);
  if (isError) top.markFailed();
  const childSpan = top.child({
    name,
    kind: 'client',
    ...(link !== null && { after: { span: top, attributes: link } }),
  });
  childSpan.end();
  top.end();
  return [childSpan, top];
}

/** Removes zero counts and empty statuses, which only the other serialiser writes. */
const withoutZeros = (text: string): string =>
  text
    .replaceAll(/"dropped\w+Count":0,?/g, '')
    .replaceAll(/,?"status":\{("code":0)?\}/g, '')
    .replaceAll(/,\}/g, '}')
    .replaceAll(/\{,/g, '{');

const sortKeys = (message: unknown): string =>
  JSON.stringify(message, (_key, each: unknown) =>
    typeof each === 'object' && each !== null && !Array.isArray(each)
      ? Object.fromEntries(Object.entries(each).sort(([one], [other]) => (one < other ? -1 : 1)))
      : each,
  );

test('encoded spans equal those of the SDK serialiser', () => {
  fc.assert(
    fc.property(fc.array(shape, { minLength: 1, maxLength: 4 }), (shapes) => {
      const spans = shapes.flatMap(spanOf);
      const ownMessage = decode(written(spans), traceRequest);
      const sdkMessage = decode(
        Buffer.from(ProtobufTraceSerializer.serializeRequest([...spans])!),
        traceRequest,
      );
      expect(withoutZeros(sortKeys(ownMessage))).toBe(withoutZeros(sortKeys(sdkMessage)));
    }),
    { numRuns: 300 },
  );
});

test('batch larger than the previous one is encoded completely', () => {
  const start = { name: 'many', kind: 'server', shared: { one: 'x'.repeat(1_000) } } as const;
  const spans = Array.from({ length: 2_000 }, () => traces.startTrace(start)!);
  for (const span of spans) span.end();
  const { resourceSpans } = decode(written(spans), traceRequest) as {
    resourceSpans: { scopeSpans: { spans: unknown[] }[] }[];
  };
  expect(resourceSpans[0]!.scopeSpans[0]!.spans).toHaveLength(2_000);
  expect(written([])).toHaveLength(0);
});
