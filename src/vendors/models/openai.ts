import type { ModelFacts } from '../facts';

export const openaiModels: readonly ModelFacts[] = [];
