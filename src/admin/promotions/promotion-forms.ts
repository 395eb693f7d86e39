import { Transform } from 'class-transformer';
import { IsIn, IsOptional, Matches, ValidateIf } from 'class-validator';
import { promotionScopes, type PromotionScope } from '../../billing';
import {
  ChangeForm,
  IsDollars,
  IsFlag,
  IsId,
  IsIdOrNone,
  IsLine,
  IsPerson,
  ListQuery,
  type PersonName,
} from '../pages/fields';

const DAY = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d))?$/;
const blankToNull = ({ value }: { value: unknown }): unknown => (value === '' ? null : value);

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

  /** A day is its first instant in UTC. */
  @IsOptional()
  @Transform(blankToNull)
  @ValidateIf((_form, value) => value !== null)
  @Matches(DAY)
  expires_at?: string | null;
}

export class PromotionForm extends ChangeForm {
  @IsOptional()
  @IsLine(100)
  name?: string;

  @IsOptional()
  @Transform(blankToNull)
  @ValidateIf((_form, value) => value !== null)
  @Matches(DAY)
  expires_at?: string | null;

  /** Ends the promotion now, before its end date. */
  @IsFlag()
  end?: boolean;
}
