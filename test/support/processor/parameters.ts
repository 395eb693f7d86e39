/** A refusal as the processor words it. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly body: Readonly<Record<string, unknown>>,
  ) {
    super(JSON.stringify(body));
  }
}

export const invalid = (message: string, param?: string, code?: string): ApiError =>
  new ApiError(400, {
    type: 'invalid_request_error',
    message,
    ...(param === undefined ? {} : { param }),
    ...(code === undefined ? {} : { code }),
  });

export type Parameters = ReadonlyMap<string, string>;

/** What a parameter may be; `[]` stands for any index or key. */
type Kind = 'text' | 'integer' | 'flag' | readonly string[];
type Schema = Readonly<Record<string, Kind>>;

/** Of the calls that we make: names and kinds as Stripe's published description has them, required ones with a `!`. */
const schemas: Readonly<Record<string, Schema>> = {
  'POST /v1/customers': { email: 'text', name: 'text', 'metadata[]': 'text' },
  'POST /v1/checkout/sessions': {
    'mode!': ['payment', 'setup', 'subscription'],
    customer: 'text',
    client_reference_id: 'text',
    currency: 'text',
    success_url: 'text',
    cancel_url: 'text',
    'metadata[]': 'text',
    'line_items[][quantity]': 'integer',
    'line_items[][price_data][currency]': 'text',
    'line_items[][price_data][unit_amount]': 'integer',
    'line_items[][price_data][product_data][name]': 'text',
    'payment_intent_data[metadata][]': 'text',
    'payment_intent_data[setup_future_usage]': ['off_session', 'on_session'],
  },
  'GET /v1/checkout/sessions/:id': { 'expand[]': 'text' },
  'GET /v1/payment_methods': {
    customer: 'text',
    type: ['card'],
    limit: 'integer',
    starting_after: 'text',
  },
  'POST /v1/payment_methods/:id/detach': {},
  'POST /v1/payment_intents': {
    'amount!': 'integer',
    'currency!': 'text',
    customer: 'text',
    payment_method: 'text',
    off_session: 'flag',
    confirm: 'flag',
    'metadata[]': 'text',
  },
  'GET /v1/payment_intents': {
    'created[gte]': 'integer',
    'created[lt]': 'integer',
    limit: 'integer',
    starting_after: 'text',
    'expand[]': 'text',
  },
  'GET /v1/payment_methods/:id': {},
  'GET /v1/payment_intents/:id': { 'expand[]': 'text' },
  'POST /v1/refunds': {
    'payment_intent!': 'text',
    amount: 'integer',
    reason: ['duplicate', 'fraudulent', 'requested_by_customer'],
    'metadata[]': 'text',
  },
  'GET /v1/webhook_endpoints': { limit: 'integer', starting_after: 'text' },
};

/** Refuses what Stripe would: a parameter it does not know, one of the wrong kind, one that is missing. */
export function readParameters(call: string, encoded: string): Parameters {
  const schema = schemas[call];
  if (schema === undefined)
    throw new ApiError(404, {
      type: 'invalid_request_error',
      message: `Unrecognized request URL (${call}).`,
    });
  const known = new Map(Object.entries(schema).map(([name, kind]) => [name.replace('!', ''), kind]));
  const given = new Map<string, string>();
  for (const [name, value] of new URLSearchParams(encoded)) {
    const kind = known.get(name) ?? known.get(generalised(name));
    if (kind === undefined) throw invalid(`Received unknown parameter: ${name}`, name, 'parameter_unknown');
    if (!fits(value, kind)) throw invalid(`Invalid value for ${name}: ${value}`, name);
    given.set(name, value);
  }
  for (const name of Object.keys(schema)
    .filter((one) => one.endsWith('!'))
    .map((one) => one.slice(0, -1))) {
    if (!given.has(name)) throw invalid(`Missing required param: ${name}.`, name, 'parameter_missing');
  }
  return given;
}

function fits(value: string, kind: Kind): boolean {
  switch (kind) {
    case 'text':
      return value.length > 0 && value.length <= 5_000;
    case 'integer':
      return /^\d{1,12}$/.test(value);
    case 'flag':
      return value === 'true' || value === 'false';
    default:
      return kind.includes(value);
  }
}

/** `line_items[0][quantity]` and `metadata[wallet]` as the schema names them. */
const generalised = (name: string): string =>
  name.replaceAll(/\[\d+\]/g, '[]').replace(/(metadata\]?)\[[^\]]+\]$/, '$1[]');

/** The values below a name such as `metadata`. */
export function objectOf(parameters: Parameters, name: string): Record<string, string> {
  const found: Record<string, string> = {};
  for (const [given, value] of parameters) {
    if (given.startsWith(`${name}[`)) found[given.slice(name.length + 1, -1)] = value;
  }
  return found;
}
