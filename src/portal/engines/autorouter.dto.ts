import { keyIdField } from '../../keys';
import { IfPresent, IsWholeNumber, ParsedBy } from '../../web';
import { DEFAULT_DAYS } from '../lists/periods';

const MAX_DAYS = 365;

export class AutorouterQuery {
  @IsWholeNumber(1, MAX_DAYS, { default: DEFAULT_DAYS })
  days: number;
}

export class AutorouterPageQuery extends AutorouterQuery {
  @IfPresent()
  @ParsedBy(keyIdField)
  key?: number | string;
}
