import { applyDecorators } from '@nestjs/common';
import { Transform } from 'class-transformer';
import type { UserRole } from '../../kernel';
import {
  ArrayMaxSize,
  ArrayMinSize,
  IsArray,
  IsIn,
  IsOptional,
  mailAddress,
  Matches,
  MaxLength,
} from '../../platform';
import { locales, type Locale } from '../../views';
import { IsId, IsIdOrNone, AdminListQuery } from '../pages/fields';

export class InviteListQuery extends AdminListQuery {}

export const invitableRoles = [
  'user',
  'department_admin',
  'org_admin',
  'org_owner',
] as const satisfies UserRole[];
const MAX_ADDRESSES = 50;

const splitAddresses = ({ value }: { value: unknown }): unknown =>
  typeof value === 'string' ? [...new Set(value.split(/[\s,;]+/).filter((part) => part !== ''))] : value;

/** Accepts one address, a list, or a text with one address per line. */
const IsAddressList = (): PropertyDecorator =>
  applyDecorators(
    Transform(splitAddresses),
    IsArray(),
    ArrayMinSize(1),
    ArrayMaxSize(MAX_ADDRESSES),
    Matches(mailAddress, 'an email address', { each: true }),
    MaxLength(254, { each: true }),
  );

export class InviteParams {
  @IsId()
  invite_id: number;
}

export class InviteForm {
  @IsAddressList()
  email: string[];

  @IsIn(invitableRoles)
  role: (typeof invitableRoles)[number];

  @IsIdOrNone()
  org_id?: number | null;

  @IsIdOrNone()
  department_id?: number | null;

  @IsOptional()
  @IsIn(locales)
  language?: Locale;
}
