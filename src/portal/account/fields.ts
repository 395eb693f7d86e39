import { applyDecorators } from '@nestjs/common';
import { Transform } from 'class-transformer';
import { MAX_PASSWORD_LENGTH } from '../../identity';
import { nonEmptyLine } from '../../kernel';
import {
  IsIn,
  IsOptional,
  IsString,
  mailAddress,
  Matches,
  MaxLength,
  MinLength,
  ParsedBy,
} from '../../platform';

const trimmed = ({ value }: { value: unknown }): unknown =>
  typeof value === 'string' ? value.trim() : value;

export const IsMailAddress = (): PropertyDecorator =>
  applyDecorators(Transform(trimmed), Matches(mailAddress, 'an email address'), MaxLength(254));

export const IsPassword = (): PropertyDecorator =>
  applyDecorators(IsString(), MinLength(1), MaxLength(MAX_PASSWORD_LENGTH));

export const IsLine = (maxLength: number): PropertyDecorator => ParsedBy(nonEmptyLine(maxLength));

export const IsLineOrBlank = (maxLength: number): PropertyDecorator =>
  ParsedBy(nonEmptyLine(maxLength).orBlank());

export const IsToken = (): PropertyDecorator => applyDecorators(IsString(), MaxLength(100));

export const IsTicked = (): PropertyDecorator => applyDecorators(IsOptional(), IsIn(['on', 'true', true]));

/** The page to continue with; addresses outside the portal are ignored. */
export const IsNextPath = (): PropertyDecorator =>
  applyDecorators(IsOptional(), IsString(), MaxLength(2_000));
