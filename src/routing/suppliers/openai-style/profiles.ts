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

/** The profile has as data what is peculiar to one supplier of this style. */
export interface Profile {
  /** Stands between a base address without a version and the path of an operation. */
  readonly prefix: string;
  readonly serves: readonly OperationName[];
  readonly keyHeader: string;
  readonly needsCredential: boolean;
  /** The one field it bounds answers by; null: it takes both. */
  readonly limitField: 'max_tokens' | 'max_completion_tokens' | null;
  /** `always`: a stream reports usage unasked. `asked`: only on demand, so it is demanded. */
  readonly usageInStream: 'always' | 'asked';
  readonly developerRole: boolean;
  /** Its word for "some tool has to be called". */
  readonly required: 'required' | 'any';
  /** Pictures are billed by this maker's rule; null where models of many makers are hosted. */
  readonly pictures: PictureMaker | null;
  /** It refuses fields that it does not know. */
  readonly validates: boolean;
  /** A supplier has these fields of its own, beside those of the interface. */
  readonly own: Readonly<Partial<Record<OperationName, readonly string[]>>>;
  /** It takes such ids of tool calls; any text unless said. */
  readonly toolIds?: IdRule;
  readonly drop: readonly string[];
  /** Fields of messages that answers of others bring into the history, and this one refuses. */
  readonly dropInMessages: readonly string[];
  readonly rename: Readonly<Record<string, string>>;
  /** The voice for speech where the caller names none; null leaves it to the model. */
  readonly voice: string | null;
  readonly speechFormats: readonly string[];
  /** The model is a deployment in the path, and this version of the interface in the query. */
  readonly apiVersion?: string;
}

/** What servers of open models have in common. */
const openModels: Profile['own'] = {
  chat: serviceFields.chat,
  completions: serviceFields.chat,
  embeddings: serviceFields.embeddings,
  rerank: serviceFields.rerank,
  speech: serviceFields.speech,
  transcription: serviceFields.form,
  translation: serviceFields.form,
  image: serviceFields.image,
};

/** Suppliers that show reasoning give it in these. */
const reasoningFields = ['reasoning_content', 'reasoning', 'reasoning_details'] as const;

/** Fields of OpenAI that change no answer; the typings of groq-sdk 1.6.0 and @mistralai/mistralai 2.7.0 lack them. */
const ofOpenai = ['safety_identifier', 'verbosity', 'prompt_cache_retention'] as const;

const generic: Profile = {
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
  own: openModels,
  drop: [],
  dropInMessages: [],
  rename: {},
  voice: null,
  speechFormats: ['mp3', 'wav'],
};

const openai: Profile = {
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
  // It refuses speech without a voice (https://platform.openai.com/docs/api-reference/audio/createSpeech).
  voice: 'alloy',
  speechFormats: ['mp3', 'opus', 'aac', 'flac', 'wav', 'pcm'],
};

export const profiles: Readonly<Record<string, Profile>> = {
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
      ...ofOpenai,
    ],
    dropInMessages: ['refusal', 'annotations', 'audio', 'function_call', ...reasoningFields],
    rename: { seed: 'random_seed' },
  },
  groq: {
    ...generic,
    serves: ['chat', 'speech', 'transcription', 'translation'],
    limitField: 'max_completion_tokens',
    own: { chat: serviceFields.groq },
    drop: ['logit_bias', 'logprobs', 'top_logprobs', 'store', 'prompt_cache_key', ...ofOpenai],
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

const known = new WeakMap<object, Profile>();

/** The named profile, with what the provider's settings say differently. */
export function profileOf({ settings }: ProviderView): Profile {
  const before = known.get(settings);
  if (before !== undefined) return before;
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
  const profile: Profile = {
    ...base,
    ...(typeof apiVersion === 'string' ? { apiVersion } : {}),
    ...(typeof keyHeader === 'string' ? { keyHeader: keyHeader.toLowerCase() } : {}),
    ...(anonymous === true ? { needsCredential: false } : {}),
    ...(typeof voice === 'string' ? { voice } : {}),
    drop: Array.isArray(drop) ? [...base.drop, ...drop.map(String)] : base.drop,
    rename: { ...base.rename, ...textsOf(rename) },
  };
  known.set(settings, profile);
  return profile;
}

/** Callers of the other dialects are translated to chat, unless the supplier speaks theirs. */
export function operationsOf(profile: Profile): Operations {
  let operations = served.get(profile);
  if (operations === undefined) served.set(profile, (operations = readOperations(profile)));
  return operations;
}

const served = new WeakMap<Profile, Operations>();

function readOperations({ serves }: Profile): Operations {
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
