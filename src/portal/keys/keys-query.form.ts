import { oneOf, rowId } from '../../kernel';
import { type KeyFilter, type ShownStatus, shownStatuses } from '../../keys';
import { Takes } from '../../platform';
import { IsCursor, IsFilterText } from '../../web';

export class KeysQuery {
  @Takes(oneOf(shownStatuses).orBlank())
  status?: ShownStatus;

  @Takes(rowId.orBlank())
  project?: number;

  @Takes(rowId.orBlank())
  organisation?: number;

  @IsFilterText()
  q?: string;

  @IsCursor()
  cursor?: string;
}

/** Keys of the chat are not people's own to manage. */
export const filterOf = ({
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
