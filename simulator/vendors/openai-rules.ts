import { listOf, objectOf, textOf, type JsonObject } from '../json';
import type { OpenaiModel } from './openai-models';
import { isPresent, quotedList, type Refusal, type VendorRule } from './rule';
import { schemasIn } from './schema-walk';

const REASONING = 'https://developers.openai.com/api/docs/guides/reasoning';

interface RefusalDetails {
  readonly param: string | null;
  readonly code?: string;
  readonly status?: number;
}

function openaiRefusal(message: string, { param, code, status = 400 }: RefusalDetails): Refusal {
  const error = { message, type: 'invalid_request_error', param, code: code ?? null };
  return { status, body: { error } };
}

const unsupportedParameter = (param: string, hint = ''): Refusal =>
  openaiRefusal(`Unsupported parameter: '${param}' is not supported with this model.${hint}`, {
    param,
    code: 'unsupported_parameter',
  });

const functionsIn = (body: JsonObject): boolean =>
  listOf(body['tools']).some((tool) => objectOf(tool)['type'] === 'function');

export const reasonsFor = (effort: unknown, { efforts, defaultEffort: usual }: OpenaiModel): boolean =>
  efforts.length > 0 && (effort ?? usual) !== 'none';

/** Sampling is rejected field by field; the default value is accepted. */
function samplingRefusal(body: JsonObject, effort: unknown, model: OpenaiModel): Refusal | undefined {
  const isRefused =
    model.sampling === 'never' || (model.sampling === 'not-reasoning' && reasonsFor(effort, model));
  if (!isRefused) return undefined;
  if (isPresent(body, 'temperature') && body['temperature'] !== 1) {
    return openaiRefusal(
      `Unsupported value: 'temperature' does not support ${String(body['temperature'])} with this model. ` +
        'Only the default (1) value is supported.',
      { param: 'temperature', code: 'unsupported_value' },
    );
  }
  if (isPresent(body, 'top_p') && body['top_p'] !== 1) return unsupportedParameter('top_p');
  if (isPresent(body, 'logprobs') && body['logprobs'] !== false) return unsupportedParameter('logprobs');
  return isPresent(body, 'top_logprobs') && body['top_logprobs'] !== 0
    ? unsupportedParameter('top_logprobs')
    : undefined;
}

/**
 * Error for a schema that strict mode cannot enforce: closed objects, everything required, no choices except `anyOf`.
 */
function strictRefusal(schema: unknown, subject: string, details: RefusalDetails): Refusal | undefined {
  for (const { schema: node, path } of schemasIn(schema)) {
    const context = `(${path.map((step) => `'${step}'`).join(', ')})`;
    const invalid = (reason: string): Refusal =>
      openaiRefusal(`Invalid schema for ${subject}: In context=${context}, ${reason}`, details);
    const bannedKeyword = ['oneOf', 'allOf', 'not', 'if', 'patternProperties'].find((name) => name in node);
    if (bannedKeyword !== undefined) return invalid(`'${bannedKeyword}' is not permitted.`);
    if (node['type'] !== 'object') continue;
    if (node['additionalProperties'] !== false)
      return invalid("'additionalProperties' is required to be supplied and to be false.");
    const required = listOf(node['required']);
    const missing = Object.keys(objectOf(node['properties'])).find((name) => !required.includes(name));
    if (missing !== undefined)
      return invalid(
        "'required' is required to be supplied and to be an array including every key in properties. " +
          `Missing '${missing}'.`,
      );
  }
  return undefined;
}

const STRICT = 'https://community.openai.com/t/932422';

export const openaiChatRules: readonly VendorRule<OpenaiModel>[] = [
  {
    name: 'a model of the responses interface alone',
    source: 'https://github.com/docker/docker-agent/issues/313',
    refuses: (_call, { chats }) =>
      chats
        ? undefined
        : openaiRefusal('This model is only supported in v1/responses and not in v1/chat/completions.', {
            param: 'model',
            status: 404,
          }),
  },
  {
    name: 'an effort that the model does not have',
    source: 'https://github.com/livekit/agents/pull/7169',
    refuses: ({ body }, { efforts }) => {
      const effort = body['reasoning_effort'];
      if (effort === undefined || effort === null) return undefined;
      if (efforts.length === 0)
        return openaiRefusal('Unrecognized request argument supplied: reasoning_effort', { param: null });
      // The effort `max` exists only in the Responses API.
      const chatEfforts = efforts.filter((candidate) => candidate !== 'max');
      if (chatEfforts.includes(textOf(effort))) return undefined;
      return openaiRefusal(
        `Unsupported value: 'reasoning_effort' does not support '${textOf(effort)}' with this model. ` +
          `Supported values are: ${quotedList(chatEfforts)}.`,
        { param: 'reasoning_effort', code: 'unsupported_value' },
      );
    },
  },
  {
    name: 'functions beside reasoning',
    source:
      'https://github.com/pipecat-ai/pipecat/issues/4043 and https://github.com/GoogleChromeLabs/webmcp-tools/issues/417',
    refuses: ({ body }, { id, functions }) => {
      const effort = body['reasoning_effort'] ?? undefined;
      if (functions === 'taken' || !functionsIn(body)) return undefined;
      if (functions === 'without-effort' && effort === undefined) return undefined;
      if (functions === 'beside-none' && effort === 'none') return undefined;
      const hint =
        functions === 'beside-none'
          ? "To use function tools, use /v1/responses or set reasoning_effort to 'none'."
          : 'Please use /v1/responses instead.';
      return openaiRefusal(
        `Function tools with reasoning_effort are not supported for ${id} in /v1/chat/completions. ${hint}`,
        { param: 'reasoning_effort' },
      );
    },
  },
  {
    name: 'sampling beside reasoning',
    source: `${REASONING} and https://github.com/bolna-ai/bolna/pull/1019`,
    refuses: ({ body }, model) => samplingRefusal(body, body['reasoning_effort'] ?? undefined, model),
  },
  {
    name: 'max_tokens of a reasoning model',
    source: 'https://github.com/bolna-ai/bolna/pull/1019',
    refuses: ({ body }, { efforts }) =>
      efforts.length > 0 && isPresent(body, 'max_tokens')
        ? unsupportedParameter('max_tokens', " Use 'max_completion_tokens' instead.")
        : undefined,
  },
  {
    name: 'stop and penalties of a reasoning model',
    source: `${REASONING} and https://github.com/bolna-ai/bolna/pull/1019`,
    refuses: ({ body }, { efforts }) => {
      if (efforts.length === 0) return undefined;
      const unsupportedField = ['stop', 'presence_penalty', 'frequency_penalty', 'logit_bias'].find(
        (name) => {
          const value = body[name];
          const isEmpty = value === 0 || (Array.isArray(value) && value.length === 0);
          return isPresent(body, name) && !isEmpty;
        },
      );
      return unsupportedField === undefined ? undefined : unsupportedParameter(unsupportedField);
    },
  },
  {
    name: 'top_logprobs without logprobs',
    source: 'https://developers.openai.com/api/docs/api-reference/chat/create; words recalled',
    refuses: ({ body }) =>
      isPresent(body, 'top_logprobs') && body['logprobs'] !== true
        ? openaiRefusal("Invalid parameter: 'top_logprobs' is only allowed when 'logprobs' is enabled.", {
            param: 'top_logprobs',
          })
        : undefined,
  },
  {
    name: 'an open or branching strict schema',
    source: STRICT,
    refuses: ({ body }) => {
      const declared = objectOf(objectOf(body['response_format'])['json_schema']);
      if (declared['strict'] !== true) return undefined;
      return strictRefusal(declared['schema'], `response_format '${textOf(declared['name'])}'`, {
        param: 'response_format',
      });
    },
  },
  {
    name: 'an open or branching strict function',
    source: STRICT,
    refuses: ({ body }) => {
      for (const [index, tool] of listOf(body['tools']).map(objectOf).entries()) {
        const declared = objectOf(tool['function']);
        if (declared['strict'] !== true) continue;
        const refusal = strictRefusal(declared['parameters'], `function '${textOf(declared['name'])}'`, {
          param: `tools[${index}].function.parameters`,
          code: 'invalid_function_parameters',
        });
        if (refusal) return refusal;
      }
      return undefined;
    },
  },
];

/** Encrypted reasoning that this simulator created for an account. */
export const openaiSecret = (account: string, answer: string): string =>
  Buffer.from(`oai1|${account}|${answer}`).toString('base64');

const isOwnSecret = (secret: string, account: string): boolean =>
  Buffer.from(secret, 'base64').toString().startsWith(`oai1|${account}|`);

/** Abbreviated as in the vendor's errors. */
const abbreviateSecret = (secret: string): string => `${secret.slice(0, 4)}...${secret.slice(-4)}`;

export const openaiResponsesRules: readonly VendorRule<OpenaiModel>[] = [
  {
    name: 'an effort that the model does not have',
    source: `${REASONING}; words recalled`,
    refuses: ({ body }, { id, efforts }) => {
      const { effort } = objectOf(body['reasoning']);
      if (effort === undefined || effort === null) return undefined;
      if (efforts.length === 0) return unsupportedParameter('reasoning.effort');
      if (efforts.includes(textOf(effort))) return undefined;
      return openaiRefusal(
        `Unsupported value: '${textOf(effort)}' is not supported with the '${id}' model. ` +
          `Supported values are: ${quotedList(efforts)}.`,
        { param: 'reasoning.effort', code: 'unsupported_value' },
      );
    },
  },
  {
    name: 'sampling beside reasoning',
    source: REASONING,
    refuses: ({ body }, model) => {
      const effort = objectOf(body['reasoning'])['effort'] ?? undefined;
      const isRefused =
        model.sampling === 'never' || (model.sampling === 'not-reasoning' && reasonsFor(effort, model));
      const defaults: Readonly<Record<string, unknown>> = { temperature: 1, top_p: 1, top_logprobs: 0 };
      const unsupportedField = Object.keys(defaults).find(
        (name) => isPresent(body, name) && body[name] !== defaults[name],
      );
      return isRefused && unsupportedField !== undefined ? unsupportedParameter(unsupportedField) : undefined;
    },
  },
  {
    name: 'encrypted reasoning of another account',
    source: 'https://github.com/openai/codex/issues/8145 and https://github.com/Wei-Shaw/sub2api/issues/2863',
    refuses: ({ body, key }) => {
      const foreignItem = listOf(body['input'])
        .map((item) => objectOf(item)['encrypted_content'])
        .find((secret) => typeof secret === 'string' && !isOwnSecret(secret, key));
      if (foreignItem === undefined) return undefined;
      return openaiRefusal(
        `The encrypted content ${abbreviateSecret(textOf(foreignItem))} could not be verified. ` +
          'Reason: Encrypted content could not be decrypted or parsed.',
        { param: null, code: 'invalid_encrypted_content' },
      );
    },
  },
  {
    name: 'ids that are too long',
    source: 'https://developers.openai.com/api/docs/api-reference/responses/create; words recalled',
    refuses: ({ body }) => {
      for (const [index, item] of listOf(body['input']).map(objectOf).entries()) {
        for (const field of ['id', 'call_id']) {
          const { length } = textOf(item[field]);
          if (length <= 64) continue;
          return openaiRefusal(
            `Invalid 'input[${index}].${field}': string too long. Expected a string with maximum length 64, ` +
              `but got a string with length ${length} instead.`,
            { param: `input[${index}].${field}`, code: 'string_above_max_length' },
          );
        }
      }
      return undefined;
    },
  },
  {
    name: 'an open or branching strict schema',
    source: STRICT,
    refuses: ({ body }) => {
      const format = objectOf(objectOf(body['text'])['format']);
      if (format['type'] !== 'json_schema' || format['strict'] !== true) return undefined;
      return strictRefusal(format['schema'], `response_format '${textOf(format['name'])}'`, {
        param: 'text.format.schema',
        code: 'invalid_json_schema',
      });
    },
  },
];
