import type { VerbatimFields } from '../../kernel';

/** Some suppliers send arguments as an object. */
export const chatWrittenFields: VerbatimFields = {
  texts: new Set(['arguments']),
  numbers: new Set(['parameters', 'schema']),
};
