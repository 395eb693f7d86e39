import type { WrittenFields } from '../../kernel';

export const writtenInResponses: WrittenFields = { numbers: new Set(['input', 'parameters', 'schema']) };
