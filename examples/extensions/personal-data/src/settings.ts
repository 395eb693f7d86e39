import type { StandardSchema } from '@switchboard/extension';
import { allKinds, type Kind } from './find';

export interface Settings {
  /** `EXT_PERSONAL_DATA_KINDS=email,iban`; defaults to all. */
  readonly kinds: readonly Kind[];
  /** Secret for placeholders: `EXT_PERSONAL_DATA_SECRET`, or `…_SECRET_FILE` with the name of a file. */
  readonly secret: string;
}

const isKind = (name: string): name is Kind => allKinds.some((kind) => kind === name);

/**
 * A hand-written schema. Zod, Valibot and ArkType create the same more concisely; the host only needs `validate`, which
 * returns the settings or the issues.
 */
export const settings: StandardSchema<Settings> = {
  '~standard': {
    version: 1,
    vendor: 'personal-data',
    validate(given) {
      const { kinds = allKinds.join(','), secret = '' } = given as Record<string, string | undefined>;
      const names = kinds.split(',').map((name) => name.trim());
      const issues = names
        .filter((name) => !isKind(name))
        .map((name) => ({ path: ['kinds'], message: `"${name}" is none of ${allKinds.join(', ')}` }));
      if (secret.length < 16) issues.push({ path: ['secret'], message: 'expected at least 16 characters' });
      return issues.length > 0 ? { issues } : { value: { kinds: names.filter(isKind), secret } };
    },
  },
};
