import type { VerbatimFields } from '../../kernel';

export const geminiWrittenFields: VerbatimFields = { texts: new Set(['args']) };
