import { IsRowId, UsageParameters } from '../../web';

export class UserUsageParameters extends UsageParameters {
  @IsRowId()
  user_id: number;
}
