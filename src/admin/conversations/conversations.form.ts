import { Transform, Type } from 'class-transformer';
import type { OversightFilter } from '../../chat';
import { line } from '../../kernel';
import { IsInt, IsNotEmpty, IsOptional, IsString, Max, MaxLength, Min, ParsedBy } from '../../platform';
import { IsCursor, IsFilterText } from '../../web';

export class ConversationsQuery {
  @IsFilterText()
  q?: string;

  @ParsedBy(line(256).orBlank())
  model?: string;

  @IsCursor()
  cursor?: string;
}

export const filterOf = ({ q, model }: ConversationsQuery): Omit<OversightFilter, 'limit' | 'cursor'> => ({
  person: q?.trim() || null,
  model: model?.trim() || null,
});

export class ViewContentForm {
  @IsString()
  @IsNotEmpty()
  @MaxLength(500)
  reason: string;
}

export class RetentionForm {
  /** If empty, conversations are stored until they are deleted. */
  @Transform(({ value }: { value: unknown }) => (value === '' ? null : value))
  @IsOptional()
  @Type(() => Number)
  @IsInt()
  @Min(1)
  @Max(3_650)
  days?: number | null;

  @IsOptional()
  @IsString()
  @MaxLength(64)
  version?: string;
}
