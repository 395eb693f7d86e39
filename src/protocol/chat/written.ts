import type { WrittenFields } from '../../kernel';

/** Some suppliers send arguments as an object. */
export const writtenInChat: WrittenFields = {
  texts: new Set(['arguments']),
  numbers: new Set(['parameters', 'schema']),
};
