import { applyDecorators } from '@nestjs/common';
import { Transform } from 'class-transformer';
import { PASSWORD_MOST } from '../../identity';
import { filled } from '../../kernel';
import {
  IsIn,
  IsOptional,
  IsString,
  mailAddress,
  Matches,
  MaxLength,
  MinLength,
  Takes,
} from '../../platform';

const trimmed = ({ value }: { value: unknown }): unknown =>
  typeof value === 'string' ? value.trim() : value;

export const IsMail = (): PropertyDecorator =>
  applyDecorators(Transform(trimmed), Matches(mailAddress, 'an email address'), MaxLength(254));

export const IsPassword = (): PropertyDecorator =>
  applyDecorators(IsString(), MinLength(1), MaxLength(PASSWORD_MOST));

export const IsLine = (most: number): PropertyDecorator => Takes(filled(most));

export const IsLineIfAny = (most: number): PropertyDecorator => Takes(filled(most).orBlank());

export const IsToken = (): PropertyDecorator => applyDecorators(IsString(), MaxLength(100));

/** A box that is ticked, in a form or in JSON. */
export const IsTicked = (): PropertyDecorator => applyDecorators(IsOptional(), IsIn(['on', 'true', true]));

/** The page to go to afterwards; what leads elsewhere is not followed. */
export const IsNext = (): PropertyDecorator => applyDecorators(IsOptional(), IsString(), MaxLength(2_000));
