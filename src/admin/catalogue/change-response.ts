import { type ActionResult, done, localPath } from '../../web';
import type { FromPage } from './catalogue.dto';

export const MODELS_PAGE = '/dashboard/admin/models';

interface ChangeResponse {
  readonly text?: string;
  readonly values?: Record<string, string | number>;
  readonly body: object;
  readonly to?: string;
}

export const respondWithChange = (
  { back }: FromPage,
  { text, values, body, to }: ChangeResponse,
): ActionResult => done(to ?? pathBack(back), body, text, values);

export const pathBack = (back: string | undefined): string => localPath(back, MODELS_PAGE);
