import type { Effort, ModelFacts } from '../facts';
import { CHECKED } from './checked';

/** From 200,000 tokens, the complete request is billed at the higher rates. */
const from200k = { above: 199_999, input: 2, output: 2 };

const grok = (id: string, source: string, rest: Partial<ModelFacts>): ModelFacts => ({
  id,
  vendor: 'xai',
  longContext: from200k,
  chat: 'free',
  // https://github.com/miaoxworld/NativeTavern/issues/83 (2026-11-26): refused with 400.
  chatRefuses: ['stop', 'presence_penalty', 'frequency_penalty'],
  source,
  checked: CHECKED,
  ...rest,
});

const DOCS = 'https://docs.x.ai/developers';
const upToHigh: readonly Effort[] = ['low', 'medium', 'high'];

export const xaiModels: readonly ModelFacts[] = [
  grok('grok-4.7', `${DOCS}/grok-4-7`, {
    window: 500_000,
    thinking: { efforts: [...upToHigh, 'xhigh'], usual: 'high', unasked: true, canStop: false },
  }),
  grok('grok-4.6', 'npm:@ai-sdk/xai@5.0.12 (responses options)', {
    thinking: { efforts: [...upToHigh, 'xhigh'], unasked: true, canStop: false },
  }),
  grok('grok-4.5', `${DOCS}/grok-4-5`, {
    window: 500_000,
    thinking: { efforts: upToHigh, usual: 'high', unasked: true, canStop: false },
  }),
  grok('grok-4.3', 'https://docs.x.ai/docs/migration/may-15-retirement', {
    window: 1_000_000,
    thinking: { efforts: ['none', ...upToHigh], unasked: true, canStop: true },
  }),
  grok('grok-4.20-0309-reasoning', `${DOCS}/models/grok-4.20-0309.md`, {
    aliases: ['grok-4.20', 'grok-4.20-reasoning', 'grok-4.20-reasoning-latest', 'grok-4.20-0309'],
    window: 1_000_000,
    // Accepts no effort.
    thinking: { efforts: [], unasked: true, canStop: false },
  }),
  grok('grok-4.20-0309-non-reasoning', `${DOCS}/models/grok-4.20-0309.md`, {
    aliases: ['grok-4.20-non-reasoning'],
    window: 1_000_000,
  }),
];
