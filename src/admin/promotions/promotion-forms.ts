import { IsIn } from '../../platform';
import { promotionScopes, type PromotionScope } from '../../billing';
import {
  ChangeForm,
  IsFutureTime,
  IsDollars,
  IsFlag,
  IsId,
  IsIdOrNone,
  IsLine,
  IsOptionalLine,
  IsUserReference,
  AdminListQuery,
  type UserReference,
} from '../pages/fields';

export class PromotionListQuery extends AdminListQuery {}

export class PromotionParams {
  @IsId()
  grant_id: number;
}

export class NewPromotionForm {
  @IsLine(100)
  name: string;

  @IsIn(promotionScopes)
  scope: PromotionScope;

  @IsUserReference()
  user_id?: UserReference | null;

  @IsIdOrNone()
  org_id?: number | null;

  @IsDollars()
  amount?: string | null;

  /** A date means its first instant in UTC; null for no end. */
  @IsFutureTime()
  expires_at?: string | null;
}

export class PromotionForm extends ChangeForm {
  @IsOptionalLine(100)
  name?: string;

  @IsFutureTime()
  expires_at?: string | null;

  @IsFlag()
  end?: boolean;
}
