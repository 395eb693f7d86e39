/** A vendor's model that the gateway serves by one lane to the simulator. */
export interface VendorLane {
  /** Name used by clients. */
  readonly model: string;
  readonly upstream: string;
  readonly style: 'openai-style' | 'messages-style' | 'gemini';
  readonly profile?: string;
  /** Key of the lane; lanes with another key belong to another account. */
  readonly account?: 'SUPPLIER_KEY' | 'OTHER_KEY';
}

const lane = (upstream: string, style: VendorLane['style'], profile?: string): VendorLane => ({
  model: upstream.replaceAll(/[^a-z0-9.]+/g, '-'),
  upstream,
  style,
  ...(profile === undefined ? {} : { profile }),
});

const claude = (upstream: string): VendorLane => lane(upstream, 'messages-style');
const openai = (upstream: string): VendorLane => lane(upstream, 'openai-style', 'openai');
const gemini = (upstream: string): VendorLane => lane(upstream, 'gemini');

/** A lane per model family with its own rules. */
export const vendorLanes: readonly VendorLane[] = [
  ...[
    'claude-opus-5-5',
    'claude-sonnet-5-5',
    'claude-haiku-5-5',
    'claude-opus-5',
    'claude-sonnet-5',
    'claude-fable-5',
    'claude-opus-4-8',
    'claude-opus-4-6',
    'claude-opus-4-5',
    'claude-haiku-4-5',
  ].map(claude),
  ...[
    'gpt-6-astra',
    'gpt-6.1-sol',
    'gpt-6-luna',
    'gpt-5.6-terra',
    'gpt-5.5',
    'gpt-5.5-pro',
    'gpt-5.4-mini',
    'gpt-5.1',
    'gpt-5-mini',
    'gpt-4.1',
  ].map(openai),
  ...[
    'gemini-4-argon',
    'gemini-3.8-flash',
    'gemini-3.5-flash-lite',
    'gemini-2.5-pro',
    'gemini-2.5-flash',
  ].map(gemini),
  lane('deepseek-v4-pro', 'openai-style', 'deepseek'),
  lane('openai/gpt-oss-120b', 'openai-style', 'groq'),
  lane('qwen/qwen3.6-27b', 'openai-style', 'groq'),
  lane('grok-4.7', 'openai-style', 'generic'),
  lane('grok-4.20', 'openai-style', 'generic'),
  lane('mistral-large-4', 'openai-style', 'mistral'),
  lane('mistral-medium-latest', 'openai-style', 'mistral'),
];

/** Lanes to these models on another account. */
export const otherAccountLanes: readonly VendorLane[] = [
  'claude-opus-5-5',
  'gpt-6.1-sol',
  'gemini-3.8-flash',
].flatMap((upstream) =>
  vendorLanes
    .filter((one) => one.upstream === upstream)
    .map((one) => ({ ...one, model: `${one.model}-elsewhere`, account: 'OTHER_KEY' as const })),
);

/** A lane per vendor, between which conversations move. */
export const lanePerVendor: readonly VendorLane[] = [
  'claude-opus-5-5',
  'claude-haiku-4-5',
  'gpt-6.1-sol',
  'gpt-5.4-mini',
  'gemini-3.8-flash',
  'deepseek-v4-pro',
  'openai/gpt-oss-120b',
  'grok-4.7',
  'mistral-large-4',
].flatMap((upstream) => vendorLanes.filter((one) => one.upstream === upstream));
