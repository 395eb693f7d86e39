import type { ModelFacts } from '../facts';

export const cohereModels: readonly ModelFacts[] = [];
