import type { ModelFacts } from '../facts';

export const xaiModels: readonly ModelFacts[] = [];
