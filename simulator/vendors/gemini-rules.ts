import { isObject, listOf, objectOf, textOf, type JsonObject } from '../json';
import { hashName } from '../hash';
import { isPresent, type Refusal, type VendorRule } from './rule';

export interface GeminiModel {
  readonly vendor: 'google';
  readonly id: string;
  /** Empty if thinking is set in tokens. */
  readonly levels: readonly string[];
  readonly budget?: { readonly min: number; readonly max: number };
  /** A function call must be returned with its signature. */
  readonly signs: boolean;
  /** Rejects penalties and a final model turn. */
  readonly isStrict: boolean;
}

const fromLow = ['LOW', 'MEDIUM', 'HIGH'];
const fromMinimal = ['MINIMAL', ...fromLow];
const leveled = (id: string, levels: readonly string[], isStrict = false): GeminiModel => ({
  vendor: 'google',
  id,
  levels,
  signs: true,
  isStrict,
});
const budgeted = (id: string, min: number, max: number): GeminiModel => ({
  vendor: 'google',
  id,
  levels: [],
  budget: { min, max },
  signs: false,
  isStrict: false,
});

/** https://docs.cloud.google.com/gemini-enterprise-agent-platform/models/thinking.md.txt and the pages of each model. */
export const geminiModels: readonly GeminiModel[] = [
  leveled('gemini-4-argon', fromLow),
  leveled('gemini-4-carbon', fromLow),
  leveled('gemini-4-hydrogen', [...fromLow, 'XHIGH']),
  leveled('gemini-3.8-flash', fromLow),
  leveled('gemini-3.7-flash', fromLow),
  leveled('gemini-3.5-flash', fromMinimal),
  leveled('gemini-3.5-flash-lite', fromMinimal, true),
  leveled('gemini-3.1-pro-preview', fromLow),
  budgeted('gemini-2.5-pro', 128, 32_768),
  budgeted('gemini-2.5-flash', 0, 24_576),
];

const geminiRefusal = (message: string): Refusal => ({
  status: 400,
  body: { error: { code: 400, message, status: 'INVALID_ARGUMENT' } },
});

const configOf = (body: JsonObject): JsonObject => objectOf(body['generationConfig']);
const thinkingOf = (body: JsonObject): JsonObject => objectOf(configOf(body)['thinkingConfig']);

/** Signature of a function call; valid for the account and the call. */
export const geminiSignature = (account: string, name: string): string =>
  Buffer.from(`goo1|${hashName(account)}|${name}`).toString('base64');

/** Documented by the vendor for calls that were made elsewhere. */
const WAIVERS = ['skip_thought_signature_validator', 'context_engineering_is_the_way_to_go'];

/** Returns the first function call since the last user message that lacks its signature. */
function findUnsignedCall(
  body: JsonObject,
): { readonly name: string; readonly position: number } | undefined {
  const contents = listOf(body['contents']).map(objectOf);
  const partsOf = (content: JsonObject): readonly JsonObject[] => listOf(content['parts']).map(objectOf);
  const start = contents.findLastIndex(
    (content) => content['role'] !== 'model' && partsOf(content).some((part) => 'text' in part),
  );
  for (const [position, content] of contents.entries()) {
    if (position <= start || content['role'] !== 'model') continue;
    const first = partsOf(content).find((part) => isObject(part['functionCall']));
    if (first !== undefined && textOf(first['thoughtSignature']) === '')
      return { name: textOf(objectOf(first['functionCall'])['name']), position: position + 1 };
  }
  return undefined;
}

/** Schema keywords that this API does not support. */
const unsupportedKeywords = [
  'additionalProperties',
  '$schema',
  '$defs',
  '$ref',
  'const',
  'oneOf',
  'allOf',
  'not',
];

function schemaComplaint(schema: unknown, path: string): string | undefined {
  if (!isObject(schema)) return undefined;
  const keyword = unsupportedKeywords.find((name) => name in schema);
  if (keyword !== undefined)
    return `Invalid JSON payload received. Unknown name "${keyword}" at '${path}': Cannot find field.`;
  if (Array.isArray(schema['type']))
    return `Invalid JSON payload received. Unknown name "type" at '${path}': Proto field is not repeating, cannot start list.`;
  const nestedSchemas: [unknown, string][] = [
    ...Object.values(objectOf(schema['properties'])).map((value, index): [unknown, string] => [
      value,
      `${path}.properties[${index}].value`,
    ]),
    ...listOf(schema['anyOf']).map((value, index): [unknown, string] => [value, `${path}.any_of[${index}]`]),
    [schema['items'], `${path}.items`],
  ];
  for (const [value, at] of nestedSchemas) {
    const complaint = schemaComplaint(value, at);
    if (complaint !== undefined) return complaint;
  }
  return undefined;
}

const SCHEMA = 'https://github.com/glowingjade/obsidian-smart-composer/issues/455';

const thinking: readonly VendorRule<GeminiModel>[] = [
  {
    name: 'a level beside a budget',
    source: 'https://github.com/sterlp/eclipse-peon-ai/issues/115',
    refuses: ({ body }) =>
      isPresent(thinkingOf(body), 'thinkingLevel') && isPresent(thinkingOf(body), 'thinkingBudget')
        ? geminiRefusal('You can only set only one of thinking budget and thinking level.')
        : undefined,
  },
  {
    name: 'a level that the model does not have',
    source:
      'https://docs.cloud.google.com/gemini-enterprise-agent-platform/models/guides/gemini-3-8-flash; words recalled',
    refuses: ({ body }, { levels }) => {
      if (!isPresent(thinkingOf(body), 'thinkingLevel')) return undefined;
      const level = textOf(thinkingOf(body)['thinkingLevel']).toUpperCase();
      if (levels.includes(level)) return undefined;
      return geminiRefusal(
        levels.length === 0
          ? 'Thinking level is not supported for this model.'
          : `Thinking level ${level} is not supported for this model. Please retry with other thinking level.`,
      );
    },
  },
  {
    name: 'a budget outside the range',
    source: 'https://ai.google.dev/gemini-api/docs/thinking; words recalled',
    refuses: ({ body }, { budget, levels }) => {
      if (!isPresent(thinkingOf(body), 'thinkingBudget')) return undefined;
      const requestedBudget = Number(thinkingOf(body)['thinkingBudget']);
      if (requestedBudget === -1) return undefined;
      if (requestedBudget === 0 && (levels.length > 0 || (budget?.min ?? 0) > 0))
        return geminiRefusal('Budget 0 is invalid. This model only works in thinking mode.');
      if (budget === undefined || (requestedBudget >= budget.min && requestedBudget <= budget.max))
        return undefined;
      return geminiRefusal(
        `The thinking budget ${requestedBudget} is invalid. Please choose a value between ${budget.min} and ${budget.max}.`,
      );
    },
  },
];

export const geminiRules: readonly VendorRule<GeminiModel>[] = [
  ...thinking,
  {
    name: 'a call without its signature',
    source: 'https://github.com/langgenius/dify/issues/29187',
    refuses: ({ body }, { signs }) => {
      const unsignedCall = signs ? findUnsignedCall(body) : undefined;
      return (
        unsignedCall &&
        geminiRefusal(
          'Function call is missing a thought_signature in functionCall parts. This is required for tools to ' +
            'work correctly, and missing thought_signature may lead to degraded model performance. Additional ' +
            `data, function call \`default_api:${unsignedCall.name}\` , position ${unsignedCall.position}. Please refer to ` +
            'https://ai.google.dev/gemini-api/docs/thought-signatures for more details.',
        )
      );
    },
  },
  {
    name: 'a signature from elsewhere',
    source: 'https://discuss.ai.google.dev/t/183654; words recalled',
    refuses: ({ body, key }, { signs }) => {
      const isForeign = listOf(body['contents'])
        .flatMap((content) => listOf(objectOf(content)['parts']))
        .map(objectOf)
        .some((part) => {
          const signature = textOf(part['thoughtSignature']);
          if (signature === '' || WAIVERS.includes(signature)) return false;
          return signature !== geminiSignature(key, textOf(objectOf(part['functionCall'])['name']));
        });
      return signs && isForeign ? geminiRefusal('Corrupted thought signature.') : undefined;
    },
  },
  {
    name: 'a schema of the answer with unknown words',
    source: SCHEMA,
    refuses: ({ body }) => {
      const complaint = schemaComplaint(
        configOf(body)['responseSchema'],
        'generation_config.response_schema',
      );
      return complaint === undefined ? undefined : geminiRefusal(complaint);
    },
  },
  {
    name: 'parameters of a function with unknown words',
    source: SCHEMA,
    refuses: ({ body }) => {
      for (const [at, tool] of listOf(body['tools']).map(objectOf).entries()) {
        for (const [index, declared] of listOf(tool['functionDeclarations']).map(objectOf).entries()) {
          const complaint = schemaComplaint(
            declared['parameters'],
            `tools[${at}].function_declarations[${index}].parameters`,
          );
          if (complaint !== undefined) return geminiRefusal(complaint);
        }
      }
      return undefined;
    },
  },
  {
    name: 'penalties and a last turn of the model',
    source:
      'https://docs.cloud.google.com/gemini-enterprise-agent-platform/models/gemini/3-5-flash-lite; words recalled',
    refuses: ({ body }, { isStrict }) => {
      if (!isStrict) return undefined;
      const penalty = ['presencePenalty', 'frequencyPenalty'].some((name) => isPresent(configOf(body), name));
      if (penalty) return geminiRefusal('Penalty is not enabled for this model');
      return objectOf(listOf(body['contents']).at(-1))['role'] === 'model'
        ? geminiRefusal('Request contains an invalid argument.')
        : undefined;
    },
  },
];
