import type { ModelFacts } from '../facts';

export const anthropicModels: readonly ModelFacts[] = [];
