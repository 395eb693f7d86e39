import { rowId } from '../../kernel';
import { keyIdField } from '../../keys';
import { ParsedBy } from '../../platform';

export class KeyPath {
  @ParsedBy(rowId)
  key_id: number;
}

/** Accepts the public id as well; the page then redirects to the row id. */
export class KeyPagePath {
  @ParsedBy(keyIdField)
  key_id: number | string;
}
