import { type Vendor, VendorRefusal } from './stand-in';

type VendorFields = Readonly<Record<string, unknown>>;

const badRequest = (message: string): VendorRefusal => new VendorRefusal(400, { message });

/** Returns the object if it has only known lowerCamelCase fields, the only spelling OTLP's JSON allows. */
function requireFields(value: unknown, known: readonly string[], path: string): VendorFields {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw badRequest(`${path} is no object`);
  for (const name of Object.keys(value))
    if (!known.includes(name)) throw badRequest(`${path} has a field ${name}`);
  return value as VendorFields;
}

function requireList(value: unknown, path: string): readonly unknown[] {
  if (!Array.isArray(value)) throw badRequest(`${path} is no list`);
  return value;
}

function assertValid(condition: boolean, message: string): void {
  if (!condition) throw badRequest(message);
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
function checkValue(value: unknown, path: string): unknown {
  const fields = requireFields(value, kinds, path);
  const [[kind = '', content] = [], ...others] = Object.entries(fields);
  assertValid(others.length === 0, `${path} has more than one value`);
  if (kind === 'stringValue') assertValid(typeof content === 'string', `${path} is no text`);
  else if (kind === 'boolValue') assertValid(typeof content === 'boolean', `${path} is no flag`);
  else if (kind === 'intValue')
    assertValid(typeof content === 'string' && /^-?\d{1,19}$/.test(content), `${path} is no int64`);
  else if (kind === 'doubleValue') assertValid(typeof content === 'number', `${path} is no number`);
  else if (kind === 'arrayValue') {
    const { values } = requireFields(content, ['values'], path);
    return requireList(values, path).map((element) => checkValue(element, path));
  } else throw badRequest(`${path} is of no kind that is expected`);
  return content;
}

function attributesOf(value: unknown, path: string): ReadonlyMap<string, unknown> {
  const attributes = new Map<string, unknown>();
  for (const attribute of requireList(value, path)) {
    const { key, value: content } = requireFields(attribute, ['key', 'value'], path);
    assertValid(
      typeof key === 'string' && key !== '' && !attributes.has(key),
      `${path} has a key that is no key, or twice`,
    );
    attributes.set(key as string, checkValue(content, `${path} ${String(key)}`));
  }
  return attributes;
}

const isNano = (value: unknown): boolean => typeof value === 'string' && /^[1-9]\d{17,18}$/.test(value);
const isHex = (value: unknown, digits: number): boolean =>
  typeof value === 'string' && new RegExp(`^[0-9a-fA-F]{${digits}}$`).test(value) && !/^0+$/.test(value);

/** Returns the items of each scope of each resource in a request of one signal. */
function readItems(
  json: unknown,
  [root, scopes, items]: readonly [string, string, string],
): readonly unknown[] {
  return requireList(requireFields(json, [root], 'the request')[root], root).flatMap((entry) => {
    const { resource, [scopes]: inScopes } = requireFields(entry, ['resource', scopes, 'schemaUrl'], root);
    const { attributes } = requireFields(resource, ['attributes', 'droppedAttributesCount'], 'resource');
    assertValid(
      attributesOf(attributes, 'resource').get('service.name') !== undefined,
      'the resource has no service.name',
    );
    return requireList(inScopes, scopes).flatMap((group) => {
      const { scope, [items]: list } = requireFields(group, ['scope', items, 'schemaUrl'], scopes);
      requireFields(scope, ['name', 'version', 'attributes'], 'scope');
      return requireList(list, items);
    });
  });
}

function readLogId(value: unknown): string {
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
  const log = requireFields(value, names, 'a log record');
  assertValid(
    isNano(log['timeUnixNano']) && isNano(log['observedTimeUnixNano']),
    'a time is no fixed64 of nanoseconds',
  );
  const severity = log['severityNumber'];
  assertValid(
    Number.isInteger(severity) && Number(severity) >= 1 && Number(severity) <= 24,
    'the severity is no number',
  );
  assertValid(
    log['traceId'] === undefined || isHex(log['traceId'], 32),
    'the trace is no 16 bytes in hexadecimal digits',
  );
  checkValue(log['body'], 'body');
  return String(attributesOf(log['attributes'], 'a log record').get('switchboard.request_id'));
}

/** Any OTLP receiver that requires a key in a header. */
export const otlpVendor: Vendor = {
  path: '/v1/logs',
  status: 200,
  validate({ headers, json }, key) {
    if (headers.authorization !== `Bearer ${key}`)
      throw new VendorRefusal(401, { message: `${String(headers.authorization)} is not known here` });
    return readItems(json, ['resourceLogs', 'scopeLogs', 'logRecords']).map(readLogId);
  },
  answer: (refused) =>
    refused === 0
      ? {}
      : { partialSuccess: { rejectedLogRecords: String(refused), errorMessage: 'the record is too old' } },
};

function readGenerationId(value: unknown): string {
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
  const span = requireFields(value, names, 'a span');
  assertValid(isHex(span['traceId'], 32) && isHex(span['spanId'], 16), 'an id is not in hexadecimal digits');
  assertValid(typeof span['name'] === 'string' && span['name'] !== '', 'a span has no name');
  assertValid(Number.isInteger(span['kind']), 'the kind is no number');
  const [start, end] = [span['startTimeUnixNano'], span['endTimeUnixNano']];
  assertValid(
    isNano(start) && isNano(end) && BigInt(start as string) <= BigInt(end as string),
    'the times are none',
  );
  if (span['status'] !== undefined) {
    const { code } = requireFields(span['status'], ['code', 'message'], 'status');
    assertValid([0, 1, 2].includes(Number(code)), 'the status is no number');
  }
  const attributes = attributesOf(span['attributes'], 'a span');
  // Langfuse documentation, "OpenTelemetry", attribute mapping.
  assertValid(
    ['span', 'generation', 'event'].includes(String(attributes.get('langfuse.observation.type'))),
    'no type',
  );
  for (const name of ['usage_details', 'cost_details']) {
    const text = attributes.get(`langfuse.observation.${name}`);
    const counts = Object.values(JSON.parse(String(text)) as object);
    assertValid(
      counts.length > 0 && counts.every((count) => typeof count === 'number' && count >= 0),
      `${name} has no numbers`,
    );
  }
  const completionStart =
    attributes.get('langfuse.observation.completion_start_time') ?? new Date(0).toISOString();
  assertValid(
    typeof completionStart === 'string' && new Date(completionStart).toISOString() === completionStart,
    'the start of the answer is no time',
  );
  assertValid(attributes.get('langfuse.observation.input') === undefined, 'there is content');
  return String(attributes.get('langfuse.observation.metadata.request_id'));
}

/** Langfuse's OpenTelemetry endpoint, with the header that version 4 requires. */
export const langfuseVendor: Vendor = {
  path: '/api/public/otel/v1/traces',
  status: 200,
  validate({ headers, json }, key) {
    if (headers.authorization !== `Basic ${Buffer.from(key).toString('base64')}`)
      throw new VendorRefusal(401, {
        message: 'Invalid credentials. Confirm that you have configured the correct host.',
      });
    assertValid(headers['x-langfuse-ingestion-version'] === '4', 'this is not ingestion version 4');
    return readItems(json, ['resourceSpans', 'scopeSpans', 'spans']).map(readGenerationId);
  },
  answer: (refused) =>
    refused === 0
      ? {}
      : { partialSuccess: { rejectedSpans: refused, errorMessage: 'the span is malformed' } },
};

const MAX_AGE_MS = 18 * 3_600_000;

/** Datadog API documentation, "Send logs". */
export const datadogVendor: Vendor = {
  path: '/api/v2/logs',
  status: 202,
  validate({ headers, text, json }, key) {
    const errors = (status: number, title: string, detail: string): VendorRefusal =>
      new VendorRefusal(status, { errors: [{ status: String(status), title, detail }] });
    if (headers['dd-api-key'] === undefined) throw errors(401, 'Unauthorized', 'No API key');
    if (headers['dd-api-key'] !== key)
      throw errors(403, 'Forbidden', `The API key ${String(headers['dd-api-key'])} is invalid`);
    if (Buffer.byteLength(text) > 5_000_000)
      throw errors(413, 'Payload Too Large', 'The payload is too large');
    const logs = requireList(json, 'the request');
    if (logs.length > 1_000) throw errors(413, 'Payload Too Large', 'There are too many entries');
    return logs.flatMap((log) => {
      const { message, ddsource, service, timestamp, switchboard } = log as VendorFields;
      if ([message, ddsource, service].some((value) => typeof value !== 'string'))
        throw errors(400, 'Bad Request', 'An entry is malformed');
      // Datadog accepts older entries but never displays them.
      if (Date.now() - Date.parse(String(timestamp)) > MAX_AGE_MS) return [];
      return [String((switchboard as VendorFields)['request_id'])];
    });
  },
  answer: () => ({}),
};
