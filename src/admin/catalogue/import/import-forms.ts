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
import { Flag, Words } from '../fields';
import { FromPage } from '../forms';

export const IMPORT_FORMATS = ['gateway-yaml', 'litellm-prices', 'models-dev'] as const;
export type ImportFormat = (typeof IMPORT_FORMATS)[number];

/** A page shows at most this many differences, each of which can be chosen. */
export const MOST_ROWS = 500;
const LONGEST_FILE = 8_000_000;

/** A file or its text; for price lists also the supplier, the models, and whether manual prices are replaced. */
export class ImportForm {
  @IsIn(IMPORT_FORMATS)
  format: ImportFormat;

  @IsOptional()
  @IsString()
  @MaxLength(LONGEST_FILE)
  file?: string;

  @IsOptional()
  @IsString()
  @MaxLength(LONGEST_FILE)
  content?: string;

  @IsOptional()
  @Words(100)
  providers?: string[];

  @IsOptional()
  @Words(2_000, 256)
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
  /** The fingerprint of the preview. */
  @IsString()
  @MinLength(1)
  @MaxLength(100)
  shown: string;

  @IsOptional()
  @IsIn(['all', 'chosen'])
  extent?: 'all' | 'chosen';

  /** Names as the page shows them, such as `model gpt-large`. */
  @Transform(({ value }: { value: unknown }) => (typeof value === 'string' ? [value] : value))
  @IsOptional()
  @IsArray()
  @ArrayMaxSize(MOST_ROWS)
  @IsString({ each: true })
  @MaxLength(200, { each: true })
  row?: string[];
}
