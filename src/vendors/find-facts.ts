import type { ModelFacts } from './facts';
import { anthropicModels } from './models/anthropic';
import { cohereModels } from './models/cohere';
import { deepseekModels } from './models/deepseek';
import { googleModels } from './models/google';
import { groqModels } from './models/groq';
import { mistralModels } from './models/mistral';
import { openaiModels } from './models/openai';
import { xaiModels } from './models/xai';

export const knownModels: readonly ModelFacts[] = [
  ...anthropicModels,
  ...openaiModels,
  ...googleModels,
  ...deepseekModels,
  ...mistralModels,
  ...xaiModels,
  ...groqModels,
  ...cohereModels,
];

const byName = new Map<string, ModelFacts>();
for (const model of knownModels) for (const alias of model.aliases ?? []) byName.set(alias, model);
for (const model of knownModels) byName.set(model.id, model);

/** Looks up the exact id, then an exact alias; a name that only starts like one of them is unknown. */
export const factsOf = (name: string): ModelFacts | null => byName.get(name) ?? null;
