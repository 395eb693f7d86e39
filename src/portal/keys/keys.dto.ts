import { type KeyFilter, type DisplayStatus, displayStatuses } from '../../keys';
import { IsCursor, IsFilterText, IsOneOf, IsRowId } from '../../web';

export class KeysQuery {
  @IsOneOf(displayStatuses, { optional: true })
  status?: DisplayStatus;

  @IsRowId({ optional: true })
  project?: number;

  @IsRowId({ optional: true })
  organisation?: number;

  @IsFilterText()
  q?: string;

  @IsCursor()
  cursor?: string;
}

/** Excludes keys of the chat, which users do not manage. */
export const toKeyFilter = ({
  status,
  project,
  organisation,
  q = '',
}: KeysQuery): Omit<KeyFilter, 'limit' | 'cursor'> => ({
  kind: 'client',
  status: status ?? null,
  projectId: project ?? null,
  organisationId: organisation ?? null,
  name: q.trim() === '' ? null : q.trim(),
});
