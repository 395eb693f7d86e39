import { rowId } from '../../kernel';
import { keyOfPage } from '../../keys';
import { Takes } from '../../platform';

export class KeyPath {
  @Takes(rowId)
  key_id: number;
}

/** The page redirects to its number. */
export class KeyPagePath {
  @Takes(keyOfPage)
  key_id: number | string;
}
