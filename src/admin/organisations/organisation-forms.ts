import { line, oneOf, roles, rowId, rowIds, UNKNOWN_FIELD_MODES, type UnknownFieldMode } from '../../kernel';
import { IsOptional, IsString, Matches, MaxLength, Takes } from '../../platform';
import { IfGiven, TakesOthers } from '../../web';
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

const SLUG = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;
const SLUG_FORM = '1 to 63 lowercase letters, digits and hyphens, with a letter or digit at both ends';

export class OrganisationParams {
  @IsId()
  org_id: number;
}

export class DepartmentParams {
  @IsId()
  dept_id: number;
}

export class OrganisationListQuery extends ListQuery {}

export class NewOrganisationForm {
  @IsLine(100)
  name: string;

  @Matches(SLUG, SLUG_FORM)
  slug: string;

  @IsDollars()
  monthly_budget?: string | null;
}

export class OrganisationForm extends ChangeForm {
  @IfGiven()
  @IsLine(100)
  name?: string;

  @IfGiven()
  @Matches(SLUG, SLUG_FORM)
  slug?: string;

  @IsFlag()
  billing_exempt?: boolean;

  @IsFlag()
  sso_only?: boolean;

  @Takes(oneOf(UNKNOWN_FIELD_MODES).orBlank().nullable())
  unknown_fields?: UnknownFieldMode | null;

  /** The most that the credit limits of its people may come to, as far as its own administrators set them. */
  @IsDollars()
  credit_ceiling?: string | null;

  @IsPerson()
  billing_user_id?: PersonName | null;

  @IsDollars()
  monthly_budget?: string | null;
}

export class RemovalForm extends ChangeForm {
  /** The name, typed as a confirmation. */
  @IsOptional()
  @IsString()
  @MaxLength(200)
  confirmation?: string;
}

export class MergeQuery {
  @IsIdOrNone()
  target_org_id?: number | null;

  /** They are separated by commas, or come as a repeated parameter. */
  @Takes(rowIds.orBlank())
  source_org_ids?: number[];
}

export const mergeWords = {
  /** The name of the organisation that stays. */
  confirmation: line(200).optional(),
  reason: line(500).orBlank(),
};

/** `role_` and the number of a user set that user's new role; an empty value keeps the present one. */
@TakesOthers({ '^role_\\d{1,10}$': { enum: [...roles, ''] } })
export class MergeForm {
  @Takes(rowId)
  target_org_id: number;

  @Takes(rowIds)
  source_org_ids: number[];

  @IsPerson()
  billing_user_id?: PersonName | null;

  @Takes(mergeWords.confirmation)
  confirmation?: string;

  @Takes(mergeWords.reason)
  reason?: string;
}

export class NewDepartmentForm {
  @IsIdOrNone()
  org_id?: number | null;

  @IsLine(100)
  name: string;

  @IsDollars()
  monthly_budget?: string | null;
}

export class DepartmentForm extends ChangeForm {
  @IfGiven()
  @IsLine(100)
  name?: string;

  @IsDollars()
  monthly_budget?: string | null;
}
