import type { ModelFacts } from '../facts';

export const mistralModels: readonly ModelFacts[] = [];
