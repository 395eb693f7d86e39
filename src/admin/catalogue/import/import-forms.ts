import { Transform } from 'class-transformer';
import {
  ArrayMaxSize,
  IsArray,
  IsIn,
  IsOptional,
  IsString,
  IsUUID,
  MaxLength,
  MinLength,
} from '../../../platform';
import { Flag, TextList } from '../fields';
import { FromPage } from '../forms';

export const IMPORT_FORMATS = ['gateway-yaml', 'litellm-prices', 'models-dev'] as const;
export type ImportFormat = (typeof IMPORT_FORMATS)[number];

export const MAX_ROWS = 500;
const MAX_FILE_LENGTH = 8_000_000;

export class ImportForm {
  @IsIn(IMPORT_FORMATS)
  format: ImportFormat;

  @IsOptional()
  @IsString()
  @MaxLength(MAX_FILE_LENGTH)
  file?: string;

  @IsOptional()
  @IsString()
  @MaxLength(MAX_FILE_LENGTH)
  content?: string;

  @IsOptional()
  @TextList(100)
  providers?: string[];

  @IsOptional()
  @TextList(2_000, 256)
  only?: string[];

  @IsOptional()
  @Flag()
  overwrite?: boolean;
}

export class DraftParams {
  @IsUUID()
  draft_id: string;
}

export class ApplyForm extends FromPage {
  /** Fingerprint of the preview. */
  @IsString()
  @MinLength(1)
  @MaxLength(100)
  shown: string;

  @IsOptional()
  @IsIn(['all', 'chosen'])
  extent?: 'all' | 'chosen';

  /** Names as displayed, such as `model gpt-large`. */
  @Transform(({ value }: { value: unknown }) => (typeof value === 'string' ? [value] : value))
  @IsOptional()
  @IsArray()
  @ArrayMaxSize(MAX_ROWS)
  @IsString({ each: true })
  @MaxLength(200, { each: true })
  row?: string[];
}
