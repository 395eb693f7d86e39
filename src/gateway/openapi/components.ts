import { catalogue, type JsonSchema } from '../../kernel';
import { keyFields } from '../../keys';

const text: JsonSchema = { type: 'string' };
const integer: JsonSchema = { type: 'integer' };
const amount: JsonSchema = { type: 'number' };
const time: JsonSchema = { type: 'string', format: 'date-time' };
const nullable = (schema: JsonSchema): JsonSchema => ({
  ...schema,
  type: [schema.type ?? 'string', 'null'].flat(),
});
const object = (
  properties: Readonly<Record<string, JsonSchema>>,
  required: readonly string[] = [],
): JsonSchema => ({
  type: 'object',
  properties,
  ...(required.length === 0 ? {} : { required }),
});
const listOf = (items: JsonSchema): JsonSchema =>
  object({ object: { const: 'list' }, data: { type: 'array', items }, has_more: { type: 'boolean' } }, [
    'object',
    'data',
  ]);
const ref = (name: string): JsonSchema => ({ $ref: `#/components/schemas/${name}` });

/** Schema of a fact from the model's vendor; null if its lanes differ or nothing is known. */
const laneFact = (type: 'array' | 'string' | 'boolean', description: string): JsonSchema => ({
  type: [type, 'null'],
  ...(type === 'array' ? { items: text } : {}),
  description: `${description}; null where that is unknown or not the same on all lanes.`,
});

const errorFields = {
  code: {
    anyOf: [{ enum: [...catalogue.keys()] }, { type: 'string', pattern: '^[a-z][a-z0-9_]*$' }],
    description: "Read this: a code of the catalogue, or a supplier's own for a mistake in the request.",
  },
  type: text,
  message: { type: 'string', description: 'The code, a hyphen, and the text for people.' },
  human_message: text,
  param: nullable(text),
  request_id: text,
  retryable: { type: 'boolean' },
  action_class: { enum: ['R', 'B', 'C', 'P', 'F'] },
  details: { type: 'object' },
} as const;
const required = ['code', 'type', 'message', 'human_message'];

const usage = object({ prompt_tokens: integer, completion_tokens: integer, total_tokens: integer });

/** Schemas of responses. The named fields are guaranteed; suppliers add others. */
const gatewaySchemas: Readonly<Record<string, JsonSchema>> = {
  Error: object({ error: object(errorFields, required) }, ['error']),
  MessagesError: object(
    { type: { const: 'error' }, error: object(errorFields, required), request_id: text },
    ['type', 'error'],
  ),
  ErrorEntry: object({
    code: text,
    type: text,
    status: integer,
    action_class: { enum: ['R', 'B', 'C', 'P', 'F'] },
    human_message: text,
    action: text,
    retryable: { type: 'boolean' },
    reach: { enum: ['reachable', 'reserved'] },
  }),
  ErrorList: listOf(ref('ErrorEntry')),
  Health: object({ status: { const: 'ok' } }, ['status']),
  Model: object(
    {
      id: text,
      object: { const: 'model' },
      type: { const: 'model' },
      owned_by: text,
      created: integer,
      created_at: time,
      display_name: text,
      kind: text,
      context_tokens: nullable(integer),
      max_output_tokens: nullable(integer),
      input_modalities: { type: 'array', items: text },
      output_modalities: { type: 'array', items: text },
      capabilities: { type: 'array', items: text },
      reasoning_efforts: laneFact('array', 'The efforts of reasoning it takes'),
      thinking_types: laneFact('array', 'The values of `thinking.type` it takes'),
      sampling: laneFact('string', 'What it makes of temperature and its kin'),
      forced_tools: laneFact('boolean', 'Whether `tool_choice` may force a tool'),
      prefill: laneFact('boolean', 'Whether it goes on with an answer that was begun'),
      retires_at: {
        type: ['string', 'null'],
        format: 'date-time',
        description: 'From then on it is not served.',
      },
      price: {
        type: ['object', 'null'],
        description:
          'Decimal dollars a million tokens, of the cheapest lane; null where nothing can be sold now, and of auto, whose answers are charged at the price of the model that gave them.',
      },
    },
    ['id', 'object', 'owned_by'],
  ),
  ModelList: object(
    {
      object: { const: 'list' },
      data: { type: 'array', items: ref('Model') },
      has_more: { type: 'boolean' },
      first_id: nullable(text),
      last_id: nullable(text),
    },
    ['object', 'data'],
  ),
  ChatCompletion: object({
    id: text,
    object: { const: 'chat.completion' },
    model: text,
    choices: {
      type: 'array',
      items: object({
        index: integer,
        message: object({ role: { const: 'assistant' }, content: nullable(text) }),
        finish_reason: text,
      }),
    },
    usage,
  }),
  Completion: object({
    id: text,
    object: { const: 'text_completion' },
    model: text,
    choices: { type: 'array', items: object({ index: integer, text, finish_reason: text }) },
    usage,
  }),
  Message: object({
    id: text,
    type: { const: 'message' },
    role: { const: 'assistant' },
    model: text,
    content: { type: 'array', items: { type: 'object' } },
    stop_reason: nullable(text),
    usage: object({ input_tokens: integer, output_tokens: integer }),
  }),
  Response: object({
    id: text,
    object: { const: 'response' },
    status: text,
    model: text,
    output: { type: 'array', items: { type: 'object' } },
    usage: { type: ['object', 'null'] },
  }),
  ItemList: listOf({ type: 'object' }),
  DeletedResponse: object({ id: text, object: { const: 'response' }, deleted: { const: true } }),
  TokenCount: object({ input_tokens: integer }, ['input_tokens']),
  Embeddings: object({
    object: { const: 'list' },
    model: text,
    data: {
      type: 'array',
      items: object({
        object: { const: 'embedding' },
        index: integer,
        embedding: {
          anyOf: [
            { type: 'array', items: amount },
            { type: 'string', format: 'byte' },
          ],
        },
      }),
    },
    usage: object({ prompt_tokens: integer, total_tokens: integer }),
  }),
  Ranking: object({
    model: text,
    results: { type: 'array', items: object({ index: integer, relevance_score: amount }) },
  }),
  Transcript: object({ text }, ['text']),
  Images: object({
    created: integer,
    data: { type: 'array', items: object({ url: text, b64_json: text }) },
    usage: { type: 'object' },
  }),
  Moderation: object({ id: text, model: text, results: { type: 'array', items: { type: 'object' } } }),
  NewKey: object(
    {
      id: text,
      key: { type: 'string', description: 'The secret: shown here and nowhere else.' },
      name: text,
      created: time,
    },
    ['id', 'key', 'name', 'created'],
  ),
  Key: object(
    {
      id: text,
      status: { enum: ['active', 'disabled', 'revoked', 'expired'] },
      budget_limit: nullable(amount),
      budget_used: nullable(amount),
      budget_remaining: nullable(amount),
      budget_period: nullable(text),
      resets_at: nullable(time),
      frees_next: { type: ['object', 'null'], properties: { at: time, amount } },
      ...Object.fromEntries(
        keyFields.on('answer').map(({ name, property }) => [name, property.field.schema]),
      ),
      allowed_regions: { anyOf: [text, { type: 'array', items: text }, { type: 'null' }] },
      effective: {
        type: 'object',
        description: 'What limits its requests, whoever set it; the budget is the one with the least left.',
        properties: {
          rate_limit_rpm: integer,
          allowed_regions: { type: ['array', 'null'], items: text },
          unknown_fields: text,
          budget_limit: nullable(amount),
          budget_used: nullable(amount),
          budget_remaining: nullable(amount),
          budget_period: nullable(text),
          resets_at: nullable(time),
        },
      },
      metadata: { type: 'object', additionalProperties: text },
      model_budgets: { type: 'array', items: { type: 'object' } },
      budget_raised: nullable(amount),
      budget_raised_until: nullable(time),
      created: time,
    },
    ['id', 'name', 'status'],
  ),
  Budgets: object(
    {
      extra_usage: object({
        is_enabled: { type: 'boolean' },
        monthly_limit: integer,
        used_credits: integer,
        utilization: integer,
        currency: text,
      }),
      limits: {
        type: 'array',
        items: object({
          kind: text,
          group: nullable({ enum: ['daily', 'monthly'] }),
          percent: integer,
          resets_at: nullable(time),
          severity: { enum: ['normal', 'warning', 'critical'] },
          is_active: { type: 'boolean' },
        }),
      },
    },
    ['extra_usage', 'limits'],
  ),
  KeyList: listOf(ref('Key')),
  AuditRecord: object({
    timestamp: time,
    key_id: text,
    request_id: text,
    model: text,
    supplier: nullable(text),
    region: nullable(text),
    input_tokens: integer,
    output_tokens: integer,
    cost_usd: amount,
    latency_ms: integer,
    status: integer,
    code: nullable(text),
    failover: { type: 'boolean' },
  }),
  AuditPage: listOf(ref('AuditRecord')),
  Generation: {
    type: 'object',
    description: 'The record of one request, with its attempts, prices and fees.',
  },
  Usage: {
    type: 'object',
    description:
      'total, groups and data: sums over the period, by group, and by bucket. cost_nano and cost are exact.',
  },
};

const header = (description: string, schema: JsonSchema) => ({ description, schema });

/** Headers of inference responses; a stream has the last four as trailers. */
const svcHeaders = {
  'x-svc-supplier': header('The supplier that answered.', text),
  'x-svc-region': header('The region that answered.', text),
  'x-svc-failover': header('Whether another supplier answered than the first.', { enum: ['true', 'false'] }),
  'x-svc-auto': header('How `auto` chose: model, reason and place of the dial.', text),
  'x-svc-dropped': header('What was left out or limited, by name; at most 20 names.', text),
  'x-svc-latency-ms': header('Milliseconds until the answer was whole.', integer),
  'x-svc-input-tokens': header('Tokens that went in.', integer),
  'x-svc-output-tokens': header('Tokens that came out.', integer),
  'x-svc-cost-usd': header('What the request cost, in US dollars.', amount),
};

const errorHeaders = {
  'x-request-id': header('Names the request; give it to support.', text),
  'Retry-After': header('Whole seconds to wait, on 429 and 503.', integer),
};

export const gatewayComponents = {
  schemas: gatewaySchemas,
  headers: { ...svcHeaders, ...errorHeaders },
  responses: Object.fromEntries(
    ['Error', 'MessagesError'].map((name) => [
      name,
      {
        description: 'A code of the catalogue: GET /v1/errors.',
        headers: refsTo(errorHeaders),
        content: { 'application/json': { schema: ref(name) } },
      },
    ]),
  ),
};

function refsTo(headers: object): Record<string, { $ref: string }> {
  return Object.fromEntries(
    Object.keys(headers).map((name) => [name, { $ref: `#/components/headers/${name}` }]),
  );
}

export const svcHeaderRefs = refsTo(svcHeaders);
export const schemaRef = ref;
