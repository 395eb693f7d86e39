import type { Effort, ModelFacts } from '../facts';
import { CHECKED } from './checked';

const CLOUD = 'https://docs.cloud.google.com/gemini-enterprise-agent-platform/models';
const DEPRECATIONS = 'https://ai.google.dev/gemini-api/docs/deprecations';

const fromLow: readonly Effort[] = ['low', 'medium', 'high'];
const fromMinimal: readonly Effort[] = ['minimal', ...fromLow];

type Row = Pick<ModelFacts, 'id' | 'source'> & Partial<ModelFacts>;

const gemini = (row: Row): ModelFacts => ({
  vendor: 'google',
  window: 1_048_576,
  maxOutput: 65_536,
  schema: 'google',
  // There are sixteen tiles of 258 tokens and one for the whole.
  pictures: { kind: 'flat', tokens: 17 * 258 },
  checked: CHECKED,
  ...row,
});

/** They are told how deeply to think in words, and cannot be told not to. */
const since3 = (efforts: readonly Effort[], usual: Effort | undefined, row: Row): ModelFacts =>
  gemini({ thinking: { efforts, ...(usual && { usual }), unasked: true, canStop: false }, ...row });

/** They are told in tokens. */
const in25 = (least: number, most: number, row: Row): ModelFacts =>
  gemini({
    thinking: { budget: { least, most }, unasked: true, canStop: least === 0 },
    sampling: 'free',
    ...row,
  });

export const googleModels: readonly ModelFacts[] = [
  since3(fromLow, 'medium', {
    id: 'gemini-4-argon',
    sampling: 'ignored',
    source: `${CLOUD}/guides/gemini-4-argon`,
  }),
  since3(fromLow, 'medium', { id: 'gemini-4-carbon', source: `${CLOUD}/guides/gemini-4-carbon` }),
  since3([...fromLow, 'xhigh'], 'high', {
    id: 'gemini-4-hydrogen',
    source: `${CLOUD}/guides/gemini-4-hydrogen`,
  }),
  since3(fromLow, 'medium', { id: 'gemini-3.8-flash', source: `${CLOUD}/guides/gemini-3-8-flash` }),
  since3(fromLow, 'medium', { id: 'gemini-3.7-flash', source: `${CLOUD}/guides/gemini-3-8-flash` }),
  since3(fromMinimal, undefined, {
    id: 'gemini-3.6-flash',
    source: 'npm:@ai-sdk/google@4.0.121 (model catalogue)',
  }),
  since3(fromMinimal, 'medium', {
    id: 'gemini-3.5-flash',
    source: 'https://docs.rs/adk-model/1.0.0/adk_model/gemini/enum.ThinkingLevel.html',
  }),
  since3(fromMinimal, 'minimal', {
    id: 'gemini-3.5-flash-lite',
    sampling: 'ignored',
    prefill: false,
    source: `${CLOUD}/gemini/3-5-flash-lite`,
  }),
  since3(fromLow, 'high', {
    id: 'gemini-3.1-pro-preview',
    longContext: { above: 200_000, input: 2, output: 1.5 },
    source: `${CLOUD}/guides/gemini-3-8-flash`,
  }),
  since3(fromMinimal, undefined, {
    id: 'gemini-3.1-flash-lite',
    ends: '2027-05-07',
    source: DEPRECATIONS,
  }),
  since3(fromMinimal, 'high', {
    id: 'gemini-3-flash-preview',
    source: 'https://docs.rs/adk-model/1.0.0/adk_model/gemini/enum.ThinkingLevel.html',
  }),
  in25(128, 32_768, {
    id: 'gemini-2.5-pro',
    longContext: { above: 200_000, input: 2, output: 1.5 },
    ends: '2026-12-01',
    replacedBy: 'gemini-3.8-flash',
    source: 'https://aideprecations.com',
  }),
  in25(0, 24_576, {
    id: 'gemini-2.5-flash',
    ends: '2026-12-01',
    replacedBy: 'gemini-3.5-flash-lite',
    source: 'https://aideprecations.com',
  }),
  gemini({
    id: 'gemini-2.5-flash-lite',
    // No budget is no thinking, and the least that is taken otherwise is 512.
    thinking: { budget: { least: 0, most: 24_576 }, unasked: false, canStop: true },
    sampling: 'free',
    source: DEPRECATIONS,
  }),
  {
    id: 'gemini-embedding-001',
    vendor: 'google',
    window: 2_048,
    source:
      'https://github.com/anomalyco/models.dev/blob/dev/providers/google/models/gemini-embedding-001.toml',
    checked: CHECKED,
  },
];
