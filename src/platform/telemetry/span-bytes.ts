import type { SpanContext } from '@opentelemetry/api';
import { BackwardBytes } from './backward-bytes';
import { NOTHING_SHARED, type OpenSpan, type Told, type ToldEvent, type Value } from './open-span';

/** Has set whether its parent is in another process, and whether it is; these bits say so. */
const KNOWS_REMOTE = 0x100;
const IS_REMOTE = 0x200;
const MOST_SHARED = 5_000;

/** Names of attributes are few. */
const names = new Map<string, Buffer>();
/** The same object for many spans is written once. */
let shared = new Map<Told, Buffer>();
let lastSize = 16 * 1_024;

/**
 * An ExportTraceServiceRequest, by the numbers of its fields in
 * https://github.com/open-telemetry/opentelemetry-proto (1.11.0). The serializer of the SDK writes the same bytes, less
 * counts of zero, and takes several times as long.
 */
export function traceRequest(spans: readonly OpenSpan[]): Buffer {
  const bytes = new BackwardBytes(Math.ceil(lastSize * 1.2));
  const [first] = spans;
  if (first === undefined) return bytes.all;
  // Every span of a process has one resource and one scope.
  for (let place = spans.length - 1; place >= 0; place -= 1) writeSpan(bytes, spans[place]!);
  const scope = bytes.size;
  const { name, version = '' } = first.instrumentationScope;
  text(bytes, 2, version);
  text(bytes, 1, name);
  bytes.part(1, scope);
  bytes.part(2, 0);
  const resource = bytes.size;
  writeAttributes(bytes, 1, first.resource.attributes as Told);
  bytes.part(1, resource);
  bytes.part(1, 0);
  lastSize = bytes.size;
  return bytes.all;
}

function writeSpan(bytes: BackwardBytes, span: OpenSpan): void {
  const since = bytes.size;
  const { traceId, spanId, traceFlags, traceState } = span.spanContext();
  const parent = span.parentSpanContext;
  bytes.fixed32(traceFlags | KNOWS_REMOTE | (parent?.isRemote === true ? IS_REMOTE : 0));
  bytes.tag(16, 5);
  if (span.isError) {
    const status = bytes.size;
    bytes.varint(2);
    bytes.tag(3, 0);
    bytes.part(15, status);
  }
  if (span.after !== undefined) writeLink(bytes, span.after);
  for (let place = span.told.length - 1; place >= 0; place -= 1) writeEvent(bytes, span.told[place]!);
  const { own } = span;
  for (let place = own.length - 2; place >= 0; place -= 2)
    writeAttribute(bytes, 9, own[place] as string, own[place + 1]!);
  if (span.shared !== NOTHING_SHARED) bytes.copy(sharedBytes(span.shared));
  bytes.nanoseconds(span.endedAt);
  bytes.tag(8, 1);
  bytes.nanoseconds(span.startedAt);
  bytes.tag(7, 1);
  bytes.varint(span.kind + 1);
  bytes.tag(6, 0);
  text(bytes, 5, span.name);
  if (parent !== undefined) id(bytes, 4, parent.spanId);
  writeState(bytes, traceState);
  id(bytes, 2, spanId);
  id(bytes, 1, traceId);
  bytes.part(2, since);
}

function writeState(bytes: BackwardBytes, state: SpanContext['traceState']): void {
  const written = state?.serialize() ?? '';
  if (written !== '') text(bytes, 3, written);
}

function writeEvent(bytes: BackwardBytes, { name, at, attributes }: ToldEvent): void {
  const since = bytes.size;
  writeAttributes(bytes, 3, attributes);
  text(bytes, 2, name);
  bytes.nanoseconds(at);
  bytes.tag(1, 1);
  bytes.part(11, since);
}

function writeLink(bytes: BackwardBytes, { span, attributes }: NonNullable<OpenSpan['after']>): void {
  const since = bytes.size;
  const { traceId, spanId, traceFlags, traceState } = span.spanContext();
  bytes.fixed32(traceFlags | KNOWS_REMOTE);
  bytes.tag(6, 5);
  writeAttributes(bytes, 4, attributes);
  writeState(bytes, traceState);
  id(bytes, 2, spanId);
  id(bytes, 1, traceId);
  bytes.part(13, since);
}

function sharedBytes(attributes: Told): Buffer {
  let known = shared.get(attributes);
  if (known === undefined) {
    const bytes = new BackwardBytes(1_024);
    writeAttributes(bytes, 9, attributes);
    known = Buffer.from(bytes.all);
    // Lanes of earlier catalogues are let go.
    if (shared.size >= MOST_SHARED) shared = new Map();
    shared.set(attributes, known);
  }
  return known;
}

function writeAttributes(bytes: BackwardBytes, field: number, attributes: Told): void {
  const entries = Object.entries(attributes);
  for (let place = entries.length - 1; place >= 0; place -= 1)
    writeAttribute(bytes, field, ...entries[place]!);
}

function writeAttribute(bytes: BackwardBytes, field: number, name: string, value: Value): void {
  const since = bytes.size;
  writeValue(bytes, value);
  bytes.part(2, since);
  bytes.copy(nameBytes(name));
  bytes.part(field, since);
}

/** An AnyValue, without what stands before it. */
function writeValue(bytes: BackwardBytes, value: Value): void {
  if (typeof value === 'string') text(bytes, 1, value);
  else if (typeof value === 'boolean') {
    bytes.varint(value ? 1 : 0);
    bytes.tag(2, 0);
  } else if (typeof value !== 'number') {
    const list = bytes.size;
    for (const each of value.toReversed()) {
      const since = bytes.size;
      writeValue(bytes, each);
      bytes.part(1, since);
    }
    bytes.part(5, list);
  } else if (Number.isSafeInteger(value) && value >= 0) {
    bytes.varint(value);
    bytes.tag(3, 0);
  } else {
    bytes.double(value);
    bytes.tag(4, 1);
  }
}

function nameBytes(name: string): Buffer {
  let known = names.get(name);
  if (known === undefined) {
    const bytes = new BackwardBytes(128);
    text(bytes, 1, name);
    names.set(name, (known = Buffer.from(bytes.all)));
  }
  return known;
}

function text(bytes: BackwardBytes, field: number, value: string): void {
  const since = bytes.size;
  bytes.text(value);
  bytes.part(field, since);
}

function id(bytes: BackwardBytes, field: number, value: string): void {
  const since = bytes.size;
  bytes.hex(value);
  bytes.part(field, since);
}
