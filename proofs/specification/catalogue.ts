import type { SimulatorServer } from '../../simulator/server';
import type { GatewayFile } from '../../test/system/node';

/** Slots of the providers: two of the chat dialect, one of the messages dialect, one for native tokens. */
export const SUPPLIER_SLOTS = ['first', 'second', 'messages', 'native'] as const;
export type SupplierSlot = (typeof SUPPLIER_SLOTS)[number];

export const regions: Readonly<Record<SupplierSlot, string>> = {
  first: 'eu',
  second: 'us',
  messages: 'eu',
  native: 'us',
};

const lane = (provider: SupplierSlot, model: string, more: object = {}): object => ({
  provider,
  model: `sim-${model}`,
  region: regions[provider],
  ...more,
});

const both = (model: string, more: object = {}): object[] => [
  lane('first', model, more),
  lane('second', model, more),
];

const tokens = { input: 1, output: 2 };

/** Models that most rows use: the first lane is in one region, its fallback in another. */
const models = {
  'spec-chat': { lanes: both('spec-chat'), price: tokens, context_tokens: 200_000, max_output_tokens: 4_000 },
  'spec-shared': { lanes: both('spec-shared', { priority: 1 }), price: tokens, max_output_tokens: 4_000 },
  'spec-messages': { lanes: [lane('messages', 'spec-messages')], price: tokens, max_output_tokens: 4_000 },
  'spec-native': {
    lanes: [lane('native', 'spec-native')],
    price: tokens,
    max_output_tokens: 4_000,
    capabilities: ['tools', 'native'],
  },
  'spec-embed': {
    kind: 'embedding',
    lanes: both('spec-embed'),
    price: { input: 1 },
    context_tokens: 2_048,
    output_modalities: ['embedding'],
  },
  'spec-rerank': { kind: 'rerank', lanes: both('spec-rerank'), price: { per_call: 0.002 } },
  'spec-whisper': {
    kind: 'transcription',
    lanes: both('spec-whisper'),
    price: { per_minute: 0.006 },
    input_modalities: ['audio'],
  },
  'spec-speech': {
    kind: 'speech',
    lanes: both('spec-speech'),
    price: { input: 15 },
    output_modalities: ['audio'],
  },
} as const;

const bearer = '${SUPPLIER_KEY}';

export const catalogueOf = (servers: Readonly<Record<SupplierSlot, SimulatorServer>>): GatewayFile => ({
  providers: {
    first: { style: 'openai-style', base_url: servers.first.url, api_key: bearer },
    second: { style: 'openai-style', base_url: servers.second.url, api_key: bearer },
    messages: { style: 'messages-style', base_url: servers.messages.url, api_key: bearer },
    native: {
      style: 'native-oauth',
      base_url: `${servers.native.url}/v1`,
      credentials: { one: { kind: 'oauth-pool', access_token: bearer } },
    },
  },
  models,
  aliases: { whisper: 'spec-whisper' },
});
