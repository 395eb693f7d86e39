import { IsIn } from '../../platform';
import { promotionScopes, type PromotionScope } from '../../billing';
import {
  ChangeForm,
  IsComing,
  IsDollars,
  IsFlag,
  IsId,
  IsIdOrNone,
  IsLine,
  IsLineIfAny,
  IsPerson,
  ListQuery,
  type PersonName,
} from '../pages/fields';

export class PromotionListQuery extends ListQuery {}

export class PromotionParams {
  @IsId()
  grant_id: number;
}

export class NewPromotionForm {
  @IsLine(100)
  name: string;

  @IsIn(promotionScopes)
  scope: PromotionScope;

  @IsPerson()
  user_id?: PersonName | null;

  @IsIdOrNone()
  org_id?: number | null;

  @IsDollars()
  amount?: string | null;

  /** A day is its first instant in UTC; null for never. */
  @IsComing()
  expires_at?: string | null;
}

export class PromotionForm extends ChangeForm {
  @IsLineIfAny(100)
  name?: string;

  @IsComing()
  expires_at?: string | null;

  /** Ends the promotion now, before its end date. */
  @IsFlag()
  end?: boolean;
}
