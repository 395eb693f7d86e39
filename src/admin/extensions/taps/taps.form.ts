import { cursor, line, rowId } from '../../../kernel';
import { ParsedBy } from '../../../platform';

export class TapsQuery {
  @ParsedBy(line(100).orBlank())
  tap?: string;

  @ParsedBy(cursor.orBlank())
  cursor?: string;
}

export class TapForm {
  @ParsedBy(line(100))
  tap: string;
}

export class LettersForm extends TapForm {
  /** Defaults to all dead letters of the tap. */
  @ParsedBy(rowId.orBlank())
  letter_id?: number;
}
