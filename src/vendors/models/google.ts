import type { Effort, ModelFacts } from '../facts';
import { CHECKED } from './checked';

const CLOUD = 'https://docs.cloud.google.com/gemini-enterprise-agent-platform/models';
const DEPRECATIONS = 'https://ai.google.dev/gemini-api/docs/deprecations';

const fromLow: readonly Effort[] = ['low', 'medium', 'high'];
const fromMinimal: readonly Effort[] = ['minimal', ...fromLow];

type GoogleModelRow = Pick<ModelFacts, 'id' | 'source'> & Partial<ModelFacts>;

const gemini = (row: GoogleModelRow): ModelFacts => ({
  vendor: 'google',
  window: 1_048_576,
  maxOutput: 65_536,
  schema: 'google',
  // Sixteen tiles of 258 tokens, plus one for the complete image.
  pictures: { kind: 'flat', tokens: 17 * 258 },
  checked: CHECKED,
  ...row,
});

/** Controlled by thinking levels; thinking cannot be switched off. */
const since3 = (efforts: readonly Effort[], usual: Effort | undefined, row: GoogleModelRow): ModelFacts =>
  gemini({ thinking: { efforts, ...(usual && { usual }), unasked: true, canStop: false }, ...row });

/** Controlled by a token budget. */
const in25 = (minBudget: number, maxBudget: number, row: GoogleModelRow): ModelFacts =>
  gemini({
    thinking: { budget: { least: minBudget, most: maxBudget }, unasked: true, canStop: minBudget === 0 },
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
    // A budget of 0 disables thinking; the smallest other budget is 512.
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
