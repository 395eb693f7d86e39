import {
  ArrayMaxSize,
  IsArray,
  IsIn,
  IsOptional,
  IsString,
  IsUUID,
  MaxLength,
  MinLength,
  IsCheckbox,
  IsTextList,
  WrapInList,
} from '../../../web';
import { FromPage } from '../catalogue.dto';

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
  @IsTextList(100)
  providers?: string[];

  @IsOptional()
  @IsTextList(2_000, 256)
  only?: string[];

  @IsOptional()
  @IsCheckbox()
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
  @WrapInList()
  @IsOptional()
  @IsArray()
  @ArrayMaxSize(MAX_ROWS)
  @IsString({ each: true })
  @MaxLength(200, { each: true })
  row?: string[];
}
