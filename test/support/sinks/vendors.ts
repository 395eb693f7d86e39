import { type Vendor, VendorRefusal } from './stand-in';

type Fields = Readonly<Record<string, unknown>>;

const bad = (message: string): VendorRefusal => new VendorRefusal(400, { message });

/** Exactly these fields, by the names of JSON: the specification forbids the others' spelling, and we have no others. */
function fieldsOf(value: unknown, known: readonly string[], where: string): Fields {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw bad(`${where} is no object`);
  for (const name of Object.keys(value)) if (!known.includes(name)) throw bad(`${where} has a field ${name}`);
  return value as Fields;
}

function listOf(value: unknown, where: string): readonly unknown[] {
  if (!Array.isArray(value)) throw bad(`${where} is no list`);
  return value;
}

function must(condition: boolean, message: string): void {
  if (!condition) throw bad(message);
}

const kinds = [
  'stringValue',
  'boolValue',
  'intValue',
  'doubleValue',
  'arrayValue',
  'kvlistValue',
  'bytesValue',
];

/** opentelemetry-proto, common.proto, and the OTLP Specification, "JSON Protobuf Encoding". */
function checkValue(value: unknown, where: string): unknown {
  const fields = fieldsOf(value, kinds, where);
  const [[kind = '', content] = [], ...others] = Object.entries(fields);
  must(others.length === 0, `${where} has more than one value`);
  if (kind === 'stringValue') must(typeof content === 'string', `${where} is no text`);
  else if (kind === 'boolValue') must(typeof content === 'boolean', `${where} is no flag`);
  else if (kind === 'intValue')
    must(typeof content === 'string' && /^-?\d{1,19}$/.test(content), `${where} is no int64`);
  else if (kind === 'doubleValue') must(typeof content === 'number', `${where} is no number`);
  else if (kind === 'arrayValue') {
    const { values } = fieldsOf(content, ['values'], where);
    return listOf(values, where).map((one) => checkValue(one, where));
  } else throw bad(`${where} is of no kind that is expected`);
  return content;
}

function attributesOf(value: unknown, where: string): ReadonlyMap<string, unknown> {
  const found = new Map<string, unknown>();
  for (const one of listOf(value, where)) {
    const { key, value: content } = fieldsOf(one, ['key', 'value'], where);
    must(
      typeof key === 'string' && key !== '' && !found.has(key),
      `${where} has a key that is no key, or twice`,
    );
    found.set(key as string, checkValue(content, `${where} ${String(key)}`));
  }
  return found;
}

const isNano = (value: unknown): boolean => typeof value === 'string' && /^[1-9]\d{17,18}$/.test(value);
const isHex = (value: unknown, digits: number): boolean =>
  typeof value === 'string' && new RegExp(`^[0-9a-fA-F]{${digits}}$`).test(value) && !/^0+$/.test(value);

/** The items of each scope of each resource, in a request of one signal. */
function itemsIn(
  json: unknown,
  [root, scopes, items]: readonly [string, string, string],
): readonly unknown[] {
  return listOf(fieldsOf(json, [root], 'the request')[root], root).flatMap((one) => {
    const { resource, [scopes]: inScopes } = fieldsOf(one, ['resource', scopes, 'schemaUrl'], root);
    const { attributes } = fieldsOf(resource, ['attributes', 'droppedAttributesCount'], 'resource');
    must(
      attributesOf(attributes, 'resource').get('service.name') !== undefined,
      'the resource has no service.name',
    );
    return listOf(inScopes, scopes).flatMap((group) => {
      const { scope, [items]: list } = fieldsOf(group, ['scope', items, 'schemaUrl'], scopes);
      fieldsOf(scope, ['name', 'version', 'attributes'], 'scope');
      return listOf(list, items);
    });
  });
}

function logIdIn(value: unknown): string {
  const names = [
    'timeUnixNano',
    'observedTimeUnixNano',
    'severityNumber',
    'severityText',
    'eventName',
    'body',
    'attributes',
    'traceId',
    'spanId',
    'flags',
  ];
  const log = fieldsOf(value, names, 'a log record');
  must(
    isNano(log['timeUnixNano']) && isNano(log['observedTimeUnixNano']),
    'a time is no fixed64 of nanoseconds',
  );
  const severity = log['severityNumber'];
  must(
    Number.isInteger(severity) && Number(severity) >= 1 && Number(severity) <= 24,
    'the severity is no number',
  );
  must(
    log['traceId'] === undefined || isHex(log['traceId'], 32),
    'the trace is no 16 bytes in hexadecimal digits',
  );
  checkValue(log['body'], 'body');
  return String(attributesOf(log['attributes'], 'a log record').get('switchboard.request_id'));
}

/** Any receiver of OTLP, with a key in a header. */
export const otlpVendor: Vendor = {
  path: '/v1/logs',
  status: 200,
  judge({ headers, json }, key) {
    if (headers.authorization !== `Bearer ${key}`)
      throw new VendorRefusal(401, { message: `${String(headers.authorization)} is not known here` });
    return itemsIn(json, ['resourceLogs', 'scopeLogs', 'logRecords']).map(logIdIn);
  },
  answer: (refused) =>
    refused === 0
      ? {}
      : { partialSuccess: { rejectedLogRecords: String(refused), errorMessage: 'the record is too old' } },
};

function generationIdIn(value: unknown): string {
  const names = [
    'traceId',
    'spanId',
    'parentSpanId',
    'name',
    'kind',
    'startTimeUnixNano',
    'endTimeUnixNano',
    'attributes',
    'status',
  ];
  const span = fieldsOf(value, names, 'a span');
  must(isHex(span['traceId'], 32) && isHex(span['spanId'], 16), 'an id is not in hexadecimal digits');
  must(typeof span['name'] === 'string' && span['name'] !== '', 'a span has no name');
  must(Number.isInteger(span['kind']), 'the kind is no number');
  const [start, end] = [span['startTimeUnixNano'], span['endTimeUnixNano']];
  must(
    isNano(start) && isNano(end) && BigInt(start as string) <= BigInt(end as string),
    'the times are none',
  );
  if (span['status'] !== undefined) {
    const { code } = fieldsOf(span['status'], ['code', 'message'], 'status');
    must([0, 1, 2].includes(Number(code)), 'the status is no number');
  }
  const attributes = attributesOf(span['attributes'], 'a span');
  // Langfuse documentation, "OpenTelemetry", attribute mapping.
  must(
    ['span', 'generation', 'event'].includes(String(attributes.get('langfuse.observation.type'))),
    'no type',
  );
  for (const name of ['usage_details', 'cost_details']) {
    const text = attributes.get(`langfuse.observation.${name}`);
    const counts = Object.values(JSON.parse(String(text)) as object);
    must(
      counts.length > 0 && counts.every((count) => typeof count === 'number' && count >= 0),
      `${name} has no numbers`,
    );
  }
  const began = attributes.get('langfuse.observation.completion_start_time') ?? new Date(0).toISOString();
  must(
    typeof began === 'string' && new Date(began).toISOString() === began,
    'the start of the answer is no time',
  );
  must(attributes.get('langfuse.observation.input') === undefined, 'there is content');
  return String(attributes.get('langfuse.observation.metadata.request_id'));
}

/** The endpoint of Langfuse for OpenTelemetry, with the header that version 4 wants. */
export const langfuseVendor: Vendor = {
  path: '/api/public/otel/v1/traces',
  status: 200,
  judge({ headers, json }, key) {
    if (headers.authorization !== `Basic ${Buffer.from(key).toString('base64')}`)
      throw new VendorRefusal(401, {
        message: 'Invalid credentials. Confirm that you have configured the correct host.',
      });
    must(headers['x-langfuse-ingestion-version'] === '4', 'this is not ingestion version 4');
    return itemsIn(json, ['resourceSpans', 'scopeSpans', 'spans']).map(generationIdIn);
  },
  answer: (refused) =>
    refused === 0
      ? {}
      : { partialSuccess: { rejectedSpans: refused, errorMessage: 'the span is malformed' } },
};

const OLDEST_MS = 18 * 3_600_000;

/** Datadog API documentation, "Send logs". */
export const datadogVendor: Vendor = {
  path: '/api/v2/logs',
  status: 202,
  judge({ headers, text, json }, key) {
    const errors = (status: number, title: string, detail: string): VendorRefusal =>
      new VendorRefusal(status, { errors: [{ status: String(status), title, detail }] });
    if (headers['dd-api-key'] === undefined) throw errors(401, 'Unauthorized', 'No API key');
    if (headers['dd-api-key'] !== key)
      throw errors(403, 'Forbidden', `The API key ${String(headers['dd-api-key'])} is invalid`);
    if (Buffer.byteLength(text) > 5_000_000)
      throw errors(413, 'Payload Too Large', 'The payload is too large');
    const logs = listOf(json, 'the request');
    if (logs.length > 1_000) throw errors(413, 'Payload Too Large', 'There are too many entries');
    return logs.flatMap((log) => {
      const { message, ddsource, service, timestamp, switchboard } = log as Fields;
      if ([message, ddsource, service].some((value) => typeof value !== 'string'))
        throw errors(400, 'Bad Request', 'An entry is malformed');
      // It takes an older one, and shows it nowhere.
      if (Date.now() - Date.parse(String(timestamp)) > OLDEST_MS) return [];
      return [String((switchboard as Fields)['request_id'])];
    });
  },
  answer: () => ({}),
};
