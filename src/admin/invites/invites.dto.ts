import type { UserRole } from '../../kernel';
import { locales, type Locale } from '../../views';
import { IsFilterText, IsIn, IsOptional, IsEmailAddressList, IsRowId } from '../../web';
import { AdminListQuery } from '../pages/admin.dto';

export class InviteListQuery extends AdminListQuery {}

export const invitableRoles = [
  'user',
  'department_admin',
  'org_admin',
  'org_owner',
] as const satisfies UserRole[];
const MAX_ADDRESSES = 50;

export class InviteParams {
  @IsRowId()
  invite_id: number;
}

export class InviteForm {
  @IsEmailAddressList(MAX_ADDRESSES)
  email: string[];

  @IsIn(invitableRoles)
  role: (typeof invitableRoles)[number];

  @IsRowId({ clearable: true })
  org_id?: number | null;

  @IsRowId({ clearable: true })
  department_id?: number | null;

  @IsOptional()
  @IsIn(locales)
  language?: Locale;
}

export class InvitePageQuery {
  @IsFilterText()
  email?: string;
}
