import { cursor, line, rowId } from '../../../kernel';
import { Takes } from '../../../platform';

export class TapsQuery {
  /** The tap whose dead letters are shown. */
  @Takes(line(100).orBlank())
  tap?: string;

  @Takes(cursor.orBlank())
  cursor?: string;
}

export class TapForm {
  @Takes(line(100))
  tap: string;
}

export class LettersForm extends TapForm {
  /** Without it, all dead letters of the tap are meant. */
  @Takes(rowId.orBlank())
  letter_id?: number;
}
