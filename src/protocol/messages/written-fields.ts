import type { VerbatimFields } from '../../kernel';

export const messagesWrittenFields: VerbatimFields = {
  texts: new Set(['input']),
  numbers: new Set(['input_schema', 'schema']),
};
