import type { WrittenFields } from '../../kernel';

export const writtenInMessages: WrittenFields = {
  texts: new Set(['input']),
  numbers: new Set(['input_schema', 'schema']),
};
