import { cursor } from '../../../kernel';
import { IsRowId, IsVerbatimLine, ParsedBy } from '../../../web';

export class TapsQuery {
  @IsVerbatimLine(100, { optional: true })
  tap?: string;

  @ParsedBy(cursor, { optional: true })
  cursor?: string;
}

export class TapForm {
  @IsVerbatimLine(100)
  tap: string;
}

export class LettersForm extends TapForm {
  /** Defaults to all dead letters of the tap. */
  @IsRowId({ optional: true })
  letter_id?: number;
}
