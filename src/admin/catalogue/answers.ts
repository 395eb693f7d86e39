import { type Done, done, localPath } from '../../web';
import type { FromPage } from './forms';

export const MODELS_PAGE = '/dashboard/admin/models';

interface Change {
  /** The person reads this text. */
  readonly text?: string;
  readonly values?: Record<string, string | number>;
  readonly facts: object;
  readonly to?: string;
}

/** A person is led back to the page they came from. */
export const changed = ({ back }: FromPage, { text, values, facts, to }: Change): Done =>
  done(to ?? pathBack(back), facts, text, values);

export const pathBack = (back: string | undefined): string => localPath(back, MODELS_PAGE);
