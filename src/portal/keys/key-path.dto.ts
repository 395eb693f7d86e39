import { keyIdField } from '../../keys';
import { IsRowId, ParsedBy } from '../../web';

export class KeyPath {
  @IsRowId()
  key_id: number;
}

/** Accepts the public id as well; the page then redirects to the row id. */
export class KeyPagePath {
  @ParsedBy(keyIdField)
  key_id: number | string;
}
