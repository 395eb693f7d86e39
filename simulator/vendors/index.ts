import type { JsonObject } from '../json';
import { claudeModels, type ClaudeModel } from './claude-models';
import { claudeRules } from './claude-rules';
import { deepseekModels, deepseekRules, deepseekThinks, type DeepseekModel } from './deepseek-rules';
import { geminiModels, geminiRules, type GeminiModel } from './gemini-rules';
import { groqModels, groqRules, type GroqModel } from './groq-rules';
import { mistralModels, mistralRules, type MistralModel } from './mistral-rules';
import { openaiModels, type OpenaiModel } from './openai-models';
import { openaiChatRules, openaiResponsesRules, reasonsFor } from './openai-rules';
import { type BrokenVendorRule, firstBroken, type VendorCall } from './rule';
import { xaiModels, xaiRules, type XaiModel } from './xai-rules';

export { claudeModels, type ClaudeModel } from './claude-models';
export { openaiModels } from './openai-models';
export { claudeThinking } from './claude-rules';
export { prefixBefore, sealOf } from './claude-signatures';
export { geminiSignature } from './gemini-rules';
export { openaiSecret } from './openai-rules';
export { errorMessageOf, type VendorCall } from './rule';

export type VendorModel =
  ClaudeModel | OpenaiModel | DeepseekModel | GeminiModel | GroqModel | MistralModel | XaiModel;

const byId: ReadonlyMap<string, VendorModel> = new Map(
  [
    ...claudeModels,
    ...openaiModels,
    ...deepseekModels,
    ...geminiModels,
    ...groqModels,
    ...mistralModels,
    ...xaiModels,
  ].map((model): [string, VendorModel] => [model.id, model]),
);

/** Returns the real model that this simulator stands in for. */
export const vendorModel = (id: string): VendorModel | undefined => byId.get(id);

export type Wire = 'chat' | 'responses' | 'messages' | 'gemini';

/** APIs of each vendor that this simulator serves. */
const wires: Readonly<Record<VendorModel['vendor'], readonly Wire[]>> = {
  anthropic: ['messages'],
  openai: ['chat', 'responses'],
  google: ['gemini'],
  deepseek: ['chat'],
  groq: ['chat'],
  xai: ['chat'],
  mistral: ['chat'],
};

export const servesOn = (wire: Wire, { vendor }: VendorModel): boolean => wires[vendor].includes(wire);

/** Returns the first vendor rule that a call breaks. */
export function brokenRule(wire: Wire, call: VendorCall, model: VendorModel): BrokenVendorRule | undefined {
  switch (model.vendor) {
    case 'anthropic':
      return firstBroken(claudeRules, call, model);
    case 'openai':
      return firstBroken(wire === 'chat' ? openaiChatRules : openaiResponsesRules, call, model);
    case 'google':
      return firstBroken(geminiRules, call, model);
    case 'deepseek':
      return firstBroken(deepseekRules, call, model);
    case 'groq':
      return firstBroken(groqRules, call, model);
    case 'xai':
      return firstBroken(xaiRules, call, model);
    case 'mistral':
      return firstBroken(mistralRules, call, model);
  }
}

/** Whether a Chat Completions or Responses response starts with reasoning. */
export function reasonsByDefault(model: VendorModel | undefined, effort: unknown, body: JsonObject): boolean {
  if (model?.vendor === 'openai') return reasonsFor(effort ?? undefined, model);
  return model?.vendor === 'deepseek' && deepseekThinks(body);
}
