import type { VerbatimFields } from '../../kernel';

export const responsesWrittenFields: VerbatimFields = { numbers: new Set(['input', 'parameters', 'schema']) };
