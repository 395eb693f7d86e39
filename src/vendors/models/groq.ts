import type { ModelFacts } from '../facts';

export const groqModels: readonly ModelFacts[] = [];
