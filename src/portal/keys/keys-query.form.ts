import { oneOf, rowId } from '../../kernel';
import { type KeyFilter, type DisplayStatus, displayStatuses } from '../../keys';
import { ParsedBy } from '../../platform';
import { IsCursor, IsFilterText } from '../../web';

export class KeysQuery {
  @ParsedBy(oneOf(displayStatuses).orBlank())
  status?: DisplayStatus;

  @ParsedBy(rowId.orBlank())
  project?: number;

  @ParsedBy(rowId.orBlank())
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
