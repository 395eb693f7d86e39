import { Transform, Type } from 'class-transformer';
import type { OversightFilter } from '../../chat';
import {
  IsInt,
  IsNotEmpty,
  IsOptional,
  IsString,
  Max,
  MaxLength,
  Min,
  IsCursor,
  IsFilterText,
  IsVerbatimLine,
} from '../../web';

export class ConversationsQuery {
  @IsFilterText()
  q?: string;

  @IsVerbatimLine(256, { optional: true })
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
