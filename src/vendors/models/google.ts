import type { ModelFacts } from '../facts';

export const googleModels: readonly ModelFacts[] = [];
