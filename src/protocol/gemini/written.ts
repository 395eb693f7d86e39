import type { WrittenFields } from '../../kernel';

export const writtenInGemini: WrittenFields = { texts: new Set(['args']) };
