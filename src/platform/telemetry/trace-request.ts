import type { SpanContext } from '@opentelemetry/api';
import { BackwardWriter } from './backward-writer';
import {
  NO_SHARED_ATTRIBUTES,
  type OpenSpan,
  type SpanAttributes,
  type SpanEvent,
  type SpanValue,
} from './open-span';

/** Flag bits: whether it is known if a span's parent is remote, and whether it is. */
const KNOWS_REMOTE = 0x100;
const IS_REMOTE = 0x200;
const MAX_SHARED = 5_000;

/** Serialised attribute names, of which there are few. */
const serialisedNames = new Map<string, Buffer>();
/** Serialised attribute objects that many spans share. */
let sharedAttributes = new Map<SpanAttributes, Buffer>();
let lastSize = 16 * 1_024;

/**
 * An ExportTraceServiceRequest, by the field numbers in https://github.com/open-telemetry/opentelemetry-proto (1.11.0).
 * The serializer of the SDK writes the same bytes, less counts of zero, but several times slower.
 */
export function traceRequest(spans: readonly OpenSpan[]): Buffer {
  const bytes = new BackwardWriter(Math.ceil(lastSize * 1.2));
  const [first] = spans;
  if (first === undefined) return bytes.written;
  // Every span of a process has one resource and one scope.
  for (let index = spans.length - 1; index >= 0; index -= 1) writeSpan(bytes, spans[index]!);
  const scope = bytes.size;
  const { name, version = '' } = first.instrumentationScope;
  text(bytes, 2, version);
  text(bytes, 1, name);
  bytes.endField(1, scope);
  bytes.endField(2, 0);
  const resource = bytes.size;
  writeAttributes(bytes, 1, first.resource.attributes as SpanAttributes);
  bytes.endField(1, resource);
  bytes.endField(1, 0);
  lastSize = bytes.size;
  return bytes.written;
}

function writeSpan(bytes: BackwardWriter, span: OpenSpan): void {
  const since = bytes.size;
  const { traceId, spanId, traceFlags, traceState } = span.spanContext();
  const parent = span.parentSpanContext;
  bytes.fixed32(traceFlags | KNOWS_REMOTE | (parent?.isRemote === true ? IS_REMOTE : 0));
  bytes.tag(16, 5);
  if (span.isError) {
    const status = bytes.size;
    bytes.varint(2);
    bytes.tag(3, 0);
    bytes.endField(15, status);
  }
  if (span.after !== undefined) writeLink(bytes, span.after);
  for (let index = span.recordedEvents.length - 1; index >= 0; index -= 1)
    writeEvent(bytes, span.recordedEvents[index]!);
  const { ownAttributes } = span;
  for (let index = ownAttributes.length - 2; index >= 0; index -= 2)
    writeAttribute(bytes, 9, ownAttributes[index] as string, ownAttributes[index + 1]!);
  if (span.shared !== NO_SHARED_ATTRIBUTES) bytes.copy(sharedBytes(span.shared));
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
  bytes.endField(2, since);
}

function writeState(bytes: BackwardWriter, state: SpanContext['traceState']): void {
  const serialised = state?.serialize() ?? '';
  if (serialised !== '') text(bytes, 3, serialised);
}

function writeEvent(bytes: BackwardWriter, { name, at, attributes }: SpanEvent): void {
  const since = bytes.size;
  writeAttributes(bytes, 3, attributes);
  text(bytes, 2, name);
  bytes.nanoseconds(at);
  bytes.tag(1, 1);
  bytes.endField(11, since);
}

function writeLink(bytes: BackwardWriter, { span, attributes }: NonNullable<OpenSpan['after']>): void {
  const since = bytes.size;
  const { traceId, spanId, traceFlags, traceState } = span.spanContext();
  bytes.fixed32(traceFlags | KNOWS_REMOTE);
  bytes.tag(6, 5);
  writeAttributes(bytes, 4, attributes);
  writeState(bytes, traceState);
  id(bytes, 2, spanId);
  id(bytes, 1, traceId);
  bytes.endField(13, since);
}

function sharedBytes(attributes: SpanAttributes): Buffer {
  let serialised = sharedAttributes.get(attributes);
  if (serialised === undefined) {
    const bytes = new BackwardWriter(1_024);
    writeAttributes(bytes, 9, attributes);
    serialised = Buffer.from(bytes.written);
    // Drops the lanes of earlier catalogues.
    if (sharedAttributes.size >= MAX_SHARED) sharedAttributes = new Map();
    sharedAttributes.set(attributes, serialised);
  }
  return serialised;
}

function writeAttributes(bytes: BackwardWriter, field: number, attributes: SpanAttributes): void {
  const entries = Object.entries(attributes);
  for (let index = entries.length - 1; index >= 0; index -= 1)
    writeAttribute(bytes, field, ...entries[index]!);
}

function writeAttribute(bytes: BackwardWriter, field: number, name: string, value: SpanValue): void {
  const since = bytes.size;
  writeValue(bytes, value);
  bytes.endField(2, since);
  bytes.copy(nameBytes(name));
  bytes.endField(field, since);
}

/** An AnyValue, without its length and tag. */
function writeValue(bytes: BackwardWriter, value: SpanValue): void {
  if (typeof value === 'string') text(bytes, 1, value);
  else if (typeof value === 'boolean') {
    bytes.varint(value ? 1 : 0);
    bytes.tag(2, 0);
  } else if (typeof value !== 'number') {
    const list = bytes.size;
    for (const each of value.toReversed()) {
      const since = bytes.size;
      writeValue(bytes, each);
      bytes.endField(1, since);
    }
    bytes.endField(5, list);
  } else if (Number.isSafeInteger(value) && value >= 0) {
    bytes.varint(value);
    bytes.tag(3, 0);
  } else {
    bytes.double(value);
    bytes.tag(4, 1);
  }
}

function nameBytes(name: string): Buffer {
  let serialised = serialisedNames.get(name);
  if (serialised === undefined) {
    const bytes = new BackwardWriter(128);
    text(bytes, 1, name);
    serialisedNames.set(name, (serialised = Buffer.from(bytes.written)));
  }
  return serialised;
}

function text(bytes: BackwardWriter, field: number, value: string): void {
  const since = bytes.size;
  bytes.text(value);
  bytes.endField(field, since);
}

function id(bytes: BackwardWriter, field: number, value: string): void {
  const since = bytes.size;
  bytes.hex(value);
  bytes.endField(field, since);
}
