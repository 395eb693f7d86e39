import { IsRowId } from '../../web';

export class RateStateQuery {
  @IsRowId()
  key_id: number;
}
