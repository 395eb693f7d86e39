/**
 * OTLP messages by field number, transcribed from the .proto files of
 * https://github.com/open-telemetry/opentelemetry-proto (1.11.0), not from any SDK package. Fields that are not listed
 * are rejected.
 */
type Kind =
  'string' | 'hex' | 'bool' | 'int' | 'double' | 'fixed32' | 'fixed64' | 'sfixed64' | OtlpMessage | Repeated;
type Repeated = { readonly each: Exclude<Kind, Repeated> };
export interface OtlpMessage {
  readonly fields: Readonly<Record<number, readonly [name: string, kind: Kind]>>;
}

const anyValue: { fields: Record<number, readonly [string, Kind]> } = { fields: {} };
const keyValue: OtlpMessage = { fields: { 1: ['key', 'string'], 2: ['value', anyValue] } };
Object.assign(anyValue.fields, {
  1: ['stringValue', 'string'],
  2: ['boolValue', 'bool'],
  3: ['intValue', 'int'],
  4: ['doubleValue', 'double'],
  5: ['arrayValue', { fields: { 1: ['values', { each: anyValue }] } }],
  6: ['kvlistValue', { fields: { 1: ['values', { each: keyValue }] } }],
});

const attributes = ['attributes', { each: keyValue }] as const;
const resource: OtlpMessage = { fields: { 1: attributes, 2: ['droppedAttributesCount', 'int'] } };
const scope: OtlpMessage = {
  fields: {
    1: ['name', 'string'],
    2: ['version', 'string'],
    3: attributes,
    4: ['droppedAttributesCount', 'int'],
  },
};

const event: OtlpMessage = {
  fields: {
    1: ['timeUnixNano', 'fixed64'],
    2: ['name', 'string'],
    3: attributes,
    4: ['droppedAttributesCount', 'int'],
  },
};

const link: OtlpMessage = {
  fields: {
    1: ['traceId', 'hex'],
    2: ['spanId', 'hex'],
    3: ['traceState', 'string'],
    4: attributes,
    5: ['droppedAttributesCount', 'int'],
    6: ['flags', 'fixed32'],
  },
};

const span: OtlpMessage = {
  fields: {
    1: ['traceId', 'hex'],
    2: ['spanId', 'hex'],
    3: ['traceState', 'string'],
    4: ['parentSpanId', 'hex'],
    5: ['name', 'string'],
    6: ['kind', 'int'],
    7: ['startTimeUnixNano', 'fixed64'],
    8: ['endTimeUnixNano', 'fixed64'],
    9: attributes,
    10: ['droppedAttributesCount', 'int'],
    11: ['events', { each: event }],
    12: ['droppedEventsCount', 'int'],
    13: ['links', { each: link }],
    14: ['droppedLinksCount', 'int'],
    15: ['status', { fields: { 2: ['message', 'string'], 3: ['code', 'int'] } }],
    16: ['flags', 'fixed32'],
  },
};

const numberPoint: OtlpMessage = {
  fields: {
    2: ['startTimeUnixNano', 'fixed64'],
    3: ['timeUnixNano', 'fixed64'],
    4: ['asDouble', 'double'],
    6: ['asInt', 'sfixed64'],
    7: attributes,
    8: ['flags', 'int'],
  },
};

const histogramPoint: OtlpMessage = {
  fields: {
    2: ['startTimeUnixNano', 'fixed64'],
    3: ['timeUnixNano', 'fixed64'],
    4: ['count', 'fixed64'],
    5: ['sum', 'double'],
    6: ['bucketCounts', { each: 'fixed64' }],
    7: ['explicitBounds', { each: 'double' }],
    9: attributes,
    10: ['flags', 'int'],
    11: ['min', 'double'],
    12: ['max', 'double'],
  },
};

const points = (each: OtlpMessage) => ['dataPoints', { each }] as const;
const temporality = ['aggregationTemporality', 'int'] as const;
const metric: OtlpMessage = {
  fields: {
    1: ['name', 'string'],
    2: ['description', 'string'],
    3: ['unit', 'string'],
    5: ['gauge', { fields: { 1: points(numberPoint) } }],
    7: ['sum', { fields: { 1: points(numberPoint), 2: temporality, 3: ['isMonotonic', 'bool'] } }],
    9: ['histogram', { fields: { 1: points(histogramPoint), 2: temporality } }],
  },
};

const nestedMessage = (list: string, item: string, each: OtlpMessage): OtlpMessage => ({
  fields: {
    1: [
      `resource${list}`,
      {
        each: {
          fields: {
            1: ['resource', resource],
            2: [
              `scope${list}`,
              { each: { fields: { 1: ['scope', scope], 2: [item, { each }], 3: ['schemaUrl', 'string'] } } },
            ],
            3: ['schemaUrl', 'string'],
          },
        },
      },
    ],
  },
});

export const traceRequest = nestedMessage('Spans', 'spans', span);
export const metricsRequest = nestedMessage('Metrics', 'metrics', metric);

const wireTypes: Record<string, number> = {
  ...{ string: 2, hex: 2, bool: 0, int: 0, double: 1, fixed32: 5, fixed64: 1, sfixed64: 1 },
};

/** Decodes a message into OTLP's JSON form, with 64-bit integers as strings. */
export function decode(bytes: Buffer, { fields }: OtlpMessage): Record<string, unknown> {
  const decodedFields: Record<string, unknown> = {};
  const reader = new ProtobufReader(bytes);
  while (!reader.isAtEnd) {
    const tag = Number(reader.varint());
    const [number, wireType] = [tag >>> 3, tag & 7];
    const field = fields[number];
    if (field === undefined) throw new Error(`there is no field ${number}`);
    const [name, kind] = field;
    if (typeof kind !== 'string' && 'each' in kind) {
      const values = (decodedFields[name] ??= []) as unknown[];
      if (typeof kind.each === 'string' && wireType === 2 && wireTypes[kind.each] !== 2) {
        const packed = new ProtobufReader(reader.bytes());
        while (!packed.isAtEnd) values.push(packed.value(kind.each));
      } else values.push(read(reader, kind.each, wireType, name));
    } else decodedFields[name] = read(reader, kind, wireType, name);
  }
  return decodedFields;
}

function read(
  reader: ProtobufReader,
  kind: Exclude<Kind, Repeated>,
  wireType: number,
  name: string,
): unknown {
  const expected = typeof kind === 'string' ? wireTypes[kind] : 2;
  if (wireType !== expected) throw new Error(`${name} has wire type ${wireType} instead of ${expected}`);
  return typeof kind === 'string' ? reader.value(kind) : decode(reader.bytes(), kind);
}

class ProtobufReader {
  private at = 0;

  constructor(private readonly all: Buffer) {}

  get isAtEnd(): boolean {
    return this.at >= this.all.length;
  }

  varint(): bigint {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = this.all.readUInt8(this.at);
      this.at += 1;
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return BigInt.asUintN(64, value);
    }
    throw new Error('a number has more than ten bytes');
  }

  bytes(): Buffer {
    const size = Number(this.varint());
    if (this.at + size > this.all.length) throw new Error('a part is longer than the whole');
    this.at += size;
    return this.all.subarray(this.at - size, this.at);
  }

  value(kind: string): unknown {
    switch (kind) {
      case 'string':
        return this.bytes().toString('utf8');
      case 'hex':
        return this.bytes().toString('hex');
      case 'bool':
        return this.varint() !== 0n;
      case 'int':
        return Number(BigInt.asIntN(64, this.varint()));
      case 'fixed32':
        return this.fixed(4).readUInt32LE();
      case 'fixed64':
        return String(this.fixed(8).readBigUInt64LE());
      case 'sfixed64':
        return String(this.fixed(8).readBigInt64LE());
      default:
        return this.fixed(8).readDoubleLE();
    }
  }

  private fixed(size: number): Buffer {
    this.at += size;
    return this.all.subarray(this.at - size, this.at);
  }
}
