import { applyDecorators } from '@nestjs/common';
import { Transform } from 'class-transformer';
import type { Role } from '../../kernel';
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
import { IsId, IsIdOrNone, ListQuery } from '../pages/fields';

export class InviteListQuery extends ListQuery {}

export const invitableRoles = [
  'user',
  'department_admin',
  'org_admin',
  'org_owner',
] as const satisfies Role[];
const MOST_AT_ONCE = 50;

const addressesOf = ({ value }: { value: unknown }): unknown =>
  typeof value === 'string' ? [...new Set(value.split(/[\s,;]+/).filter((part) => part !== ''))] : value;

/** It takes one address, a list, or a text with one a line. */
const IsAddresses = (): PropertyDecorator =>
  applyDecorators(
    Transform(addressesOf),
    IsArray(),
    ArrayMinSize(1),
    ArrayMaxSize(MOST_AT_ONCE),
    Matches(mailAddress, 'an email address', { each: true }),
    MaxLength(254, { each: true }),
  );

export class InviteParams {
  @IsId()
  invite_id: number;
}

export class InviteForm {
  @IsAddresses()
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
