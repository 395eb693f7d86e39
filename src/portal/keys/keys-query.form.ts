import { Transform } from 'class-transformer';
import { IsIn, IsInt, IsOptional, Max, Min } from 'class-validator';
import { type KeyFilter, type ShownStatus, shownStatuses } from '../../keys';
import { IsCursor, IsFilterText } from '../../web';

/** A form sends the fields that were left empty, too. */
const emptyIsAbsent = ({ value }: { value: unknown }): unknown => (value === '' ? undefined : value);

export class KeysQuery {
  @IsOptional()
  @Transform(emptyIsAbsent)
  @IsIn(shownStatuses)
  status?: ShownStatus;

  @IsOptional()
  @Transform(({ value }: { value: unknown }) => (value === '' ? undefined : Number(value)))
  @IsInt()
  @Min(1)
  @Max(2 ** 31 - 1)
  project?: number;

  @IsOptional()
  @Transform(({ value }: { value: unknown }) => (value === '' ? undefined : Number(value)))
  @IsInt()
  @Min(1)
  @Max(2 ** 31 - 1)
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
