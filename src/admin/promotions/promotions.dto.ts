import { promotionScopes, type PromotionScope } from '../../billing';
import {
  IsIn,
  IfPresent,
  IsFlag,
  IsFutureTime,
  IsLine,
  IsRowId,
  IsUsdAmount,
  IsUserReference,
  type UserReference,
} from '../../web';
import { ChangeForm, AdminListQuery } from '../pages/admin.dto';

export class PromotionListQuery extends AdminListQuery {}

export class PromotionParams {
  @IsRowId()
  grant_id: number;
}

export class NewPromotionForm {
  @IsLine(100)
  name: string;

  @IsIn(promotionScopes)
  scope: PromotionScope;

  @IsUserReference()
  user_id?: UserReference | null;

  @IsRowId({ clearable: true })
  org_id?: number | null;

  @IsUsdAmount({ clearable: true })
  amount?: string | null;

  /** A date means its first instant in UTC; null for no end. */
  @IsFutureTime({ clearable: true })
  expires_at?: string | null;
}

export class PromotionForm extends ChangeForm {
  @IsLine(100, { optional: true })
  name?: string;

  @IsFutureTime({ clearable: true })
  expires_at?: string | null;

  @IfPresent()
  @IsFlag()
  end?: boolean;
}
