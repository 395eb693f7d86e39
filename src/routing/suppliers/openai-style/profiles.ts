import type { ProviderView } from '../../../catalogue';
import { type IdRule, nineLetterIds } from '../../../protocol';
import {
  type OperationName,
  operationNames,
  type Operations,
  OPERATIONS,
  type PictureMaker,
  serviceFields,
} from '../kit';

export interface SupplierProfile {
  /** Inserted between a base URL without a version and the path of an operation. */
  readonly prefix: string;
  readonly serves: readonly OperationName[];
  readonly keyHeader: string;
  readonly needsCredential: boolean;
  /** The only limit field it supports; null if it supports both. */
  readonly limitField: 'max_tokens' | 'max_completion_tokens' | null;
  /** `always`: streams report usage by default. `asked`: only on request, so it is requested. */
  readonly usageInStream: 'always' | 'asked';
  readonly developerRole: boolean;
  /** Its value for "some tool must be called". */
  readonly required: 'required' | 'any';
  /** Images are billed by this maker's rule; null if it hosts models of many makers. */
  readonly pictures: PictureMaker | null;
  readonly validates: boolean;
  /** Additional fields of the supplier, per operation. */
  readonly own: Readonly<Partial<Record<OperationName, readonly string[]>>>;
  /** Rule for ids of tool calls; defaults to any text. */
  readonly toolIds?: IdRule;
  readonly drop: readonly string[];
  /** Message fields that responses of other suppliers bring into the history and this one refuses. */
  readonly dropInMessages: readonly string[];
  readonly rename: Readonly<Record<string, string>>;
  /** Default voice for speech; null leaves it to the model. */
  readonly voice: string | null;
  readonly speechFormats: readonly string[];
  /** API version in the query; the model is then a deployment in the path. */
  readonly apiVersion?: string;
}

const openModelFields: SupplierProfile['own'] = {
  chat: serviceFields.chat,
  completions: serviceFields.chat,
  embeddings: serviceFields.embeddings,
  rerank: serviceFields.rerank,
  speech: serviceFields.speech,
  transcription: serviceFields.form,
  translation: serviceFields.form,
  image: serviceFields.image,
};

const reasoningFields = ['reasoning_content', 'reasoning', 'reasoning_details'] as const;

/**
 * Fields of OpenAI that do not change responses; missing in the typings of groq-sdk 1.6.0 and @mistralai/mistralai
 * 2.7.0.
 */
const openaiOnlyFields = ['safety_identifier', 'verbosity', 'prompt_cache_retention'] as const;

const generic: SupplierProfile = {
  prefix: '/v1',
  serves: operationNames.filter((name) => name !== 'responses' && OPERATIONS[name].path !== undefined),
  keyHeader: 'api-key',
  needsCredential: true,
  limitField: null,
  usageInStream: 'asked',
  developerRole: false,
  required: 'required',
  pictures: null,
  validates: false,
  own: openModelFields,
  drop: [],
  dropInMessages: [],
  rename: {},
  voice: null,
  speechFormats: ['mp3', 'wav'],
};

const openai: SupplierProfile = {
  ...generic,
  serves: [
    'chat',
    'completions',
    'responses',
    'embeddings',
    'speech',
    'transcription',
    'translation',
    'image',
    'moderation',
  ],
  limitField: 'max_completion_tokens',
  developerRole: true,
  pictures: 'openai',
  validates: true,
  own: {},
  dropInMessages: reasoningFields,
  // Speech without a voice is refused (https://platform.openai.com/docs/api-reference/audio/createSpeech).
  voice: 'alloy',
  speechFormats: ['mp3', 'opus', 'aac', 'flac', 'wav', 'pcm'],
};

export const profiles: Readonly<Record<string, SupplierProfile>> = {
  generic,
  openai,
  azure: {
    ...openai,
    serves: openai.serves.filter((operation) => operation !== 'moderation'),
    apiVersion: '2024-10-21',
  },
  vllm: { ...generic, needsCredential: false },
  ollama: {
    ...generic,
    serves: ['chat', 'completions', 'embeddings'],
    needsCredential: false,
    limitField: 'max_tokens',
    own: { chat: serviceFields.ollama },
    drop: ['logit_bias', 'tool_choice', 'user', 'n'],
  },
  mistral: {
    ...generic,
    serves: ['chat', 'embeddings', 'moderation', 'transcription'],
    limitField: 'max_tokens',
    usageInStream: 'always',
    required: 'any',
    toolIds: nineLetterIds,
    pictures: 'mistral',
    own: { chat: serviceFields.mistral },
    drop: [
      'stream_options',
      'logit_bias',
      'logprobs',
      'top_logprobs',
      'user',
      'store',
      'service_tier',
      ...openaiOnlyFields,
    ],
    dropInMessages: ['refusal', 'annotations', 'audio', 'function_call', ...reasoningFields],
    rename: { seed: 'random_seed' },
  },
  groq: {
    ...generic,
    serves: ['chat', 'speech', 'transcription', 'translation'],
    limitField: 'max_completion_tokens',
    own: { chat: serviceFields.groq },
    drop: ['logit_bias', 'logprobs', 'top_logprobs', 'store', 'prompt_cache_key', ...openaiOnlyFields],
    dropInMessages: ['name', 'refusal', 'annotations', 'audio', 'reasoning_content', 'reasoning_details'],
  },
  deepseek: {
    ...generic,
    serves: ['chat', 'completions'],
    limitField: 'max_tokens',
    own: { chat: serviceFields.deepseek },
  },
  together: {
    ...generic,
    serves: ['chat', 'completions', 'embeddings', 'rerank', 'image', 'speech', 'transcription'],
    limitField: 'max_tokens',
  },
};

const profileCache = new WeakMap<object, SupplierProfile>();

/** The named profile, overridden by the provider's settings. */
export function profileOf({ settings }: ProviderView): SupplierProfile {
  const cached = profileCache.get(settings);
  if (cached !== undefined) return cached;
  const {
    profile: name,
    drop,
    rename,
    api_version: apiVersion,
    key_header: keyHeader,
    anonymous,
    voice,
  } = settings;
  const base = (typeof name === 'string' ? profiles[name] : undefined) ?? generic;
  const profile: SupplierProfile = {
    ...base,
    ...(typeof apiVersion === 'string' ? { apiVersion } : {}),
    ...(typeof keyHeader === 'string' ? { keyHeader: keyHeader.toLowerCase() } : {}),
    ...(anonymous === true ? { needsCredential: false } : {}),
    ...(typeof voice === 'string' ? { voice } : {}),
    drop: Array.isArray(drop) ? [...base.drop, ...drop.map(String)] : base.drop,
    rename: { ...base.rename, ...textsOf(rename) },
  };
  profileCache.set(settings, profile);
  return profile;
}

/** Callers of other dialects are converted to chat, unless the supplier supports theirs. */
export function operationsOf(profile: SupplierProfile): Operations {
  let operations = operationsCache.get(profile);
  if (operations === undefined) operationsCache.set(profile, (operations = buildOperations(profile)));
  return operations;
}

const operationsCache = new WeakMap<SupplierProfile, Operations>();

function buildOperations({ serves }: SupplierProfile): Operations {
  const operations: { -readonly [name in keyof Operations]: Operations[name] } = {};
  for (const operation of serves) {
    if (operation !== 'native' && operation !== 'count_tokens') operations[operation] = operation;
  }
  if (serves.includes('chat')) {
    operations.messages ??= 'chat';
    operations.responses ??= 'chat';
  }
  return operations;
}

function textsOf(value: unknown): Record<string, string> {
  if (typeof value !== 'object' || value === null) return {};
  return Object.fromEntries(
    Object.entries(value).flatMap(([from, to]) => (typeof to === 'string' ? [[from, to]] : [])),
  );
}
