import type { ModelFacts } from '../facts';

export const deepseekModels: readonly ModelFacts[] = [];
