import { line, oneOf, roles, UNKNOWN_FIELD_MODES, type UnknownFieldMode } from '../../kernel';
import {
  IsOptional,
  IsString,
  MaxLength,
  IfPresent,
  AllowsOtherProperties,
  IsFlag,
  IsLine,
  IsRowId,
  IsRowIdList,
  IsUsdAmount,
  IsUserReference,
  MatchesFormat,
  ParsedBy,
  type UserReference,
} from '../../web';
import { ChangeForm, AdminListQuery } from '../pages/admin.dto';

const SLUG = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;
const SLUG_FORM = '1 to 63 lowercase letters, digits and hyphens, with a letter or digit at both ends';

export class OrganisationParams {
  @IsRowId()
  org_id: number;
}

export class DepartmentParams {
  @IsRowId()
  dept_id: number;
}

export class OrganisationListQuery extends AdminListQuery {}

export class NewOrganisationForm {
  @IsLine(100)
  name: string;

  @MatchesFormat(SLUG, SLUG_FORM)
  slug: string;

  @IsUsdAmount({ clearable: true })
  monthly_budget?: string | null;
}

export class OrganisationChangeForm extends ChangeForm {
  @IfPresent()
  @IsLine(100)
  name?: string;

  @IfPresent()
  @MatchesFormat(SLUG, SLUG_FORM)
  slug?: string;

  @IfPresent()
  @IsFlag()
  billing_exempt?: boolean;

  @IfPresent()
  @IsFlag()
  sso_only?: boolean;

  @ParsedBy(oneOf(UNKNOWN_FIELD_MODES).orBlank().nullable())
  unknown_fields?: UnknownFieldMode | null;

  /** Maximum sum of the credit limits that the organisation's own administrators can set. */
  @IsUsdAmount({ clearable: true })
  credit_ceiling?: string | null;

  @IsUserReference()
  billing_user_id?: UserReference | null;

  @IsUsdAmount({ clearable: true })
  monthly_budget?: string | null;
}

export class RemovalForm extends ChangeForm {
  @IsOptional()
  @IsString()
  @MaxLength(200)
  confirmation?: string;
}

export class MergeQuery {
  @IsRowId({ clearable: true })
  target_org_id?: number | null;

  /** Comma-separated ids, or a repeated parameter. */
  @IsRowIdList({ optional: true })
  source_org_ids?: number[];
}

export const mergeTextFields = {
  confirmation: line(200).optional(),
  reason: line(500).orBlank(),
};

/** `role_` plus a user number sets that user's new role; an empty value keeps the current one. */
@AllowsOtherProperties({ '^role_\\d{1,10}$': { enum: [...roles, ''] } })
export class MergeForm {
  @IsRowId()
  target_org_id: number;

  @IsRowIdList()
  source_org_ids: number[];

  @IsUserReference()
  billing_user_id?: UserReference | null;

  @ParsedBy(mergeTextFields.confirmation)
  confirmation?: string;

  @ParsedBy(mergeTextFields.reason)
  reason?: string;
}

export class NewDepartmentForm {
  @IsRowId({ clearable: true })
  org_id?: number | null;

  @IsLine(100)
  name: string;

  @IsUsdAmount({ clearable: true })
  monthly_budget?: string | null;
}

export class DepartmentForm extends ChangeForm {
  @IfPresent()
  @IsLine(100)
  name?: string;

  @IsUsdAmount({ clearable: true })
  monthly_budget?: string | null;
}
