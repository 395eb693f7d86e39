import { applyDecorators } from '@nestjs/common';
import { Transform } from 'class-transformer';
import { IsOptional, IsString, Matches, MaxLength, MinLength, type ValidationOptions } from 'class-validator';
import { MAX_PASSWORD_LENGTH } from '../../identity';
import { cursor, InputField, line, multilineText, nonEmptyLine } from '../../kernel';
import { mailAddress } from '../../platform';
import { type AbsenceOptions, ParsedBy } from './parsed-by.decorator';
import { ConvertText, Trim } from './transforms';

/** A trimmed line of at least one character, without control or invisible characters. */
export const IsLine = (maxLength: number, absence?: AbsenceOptions): PropertyDecorator =>
  ParsedBy(nonEmptyLine(maxLength), absence);

/** A line as it was sent: not trimmed, and possibly empty. */
export const IsVerbatimLine = (maxLength: number, absence?: AbsenceOptions): PropertyDecorator =>
  ParsedBy(line(maxLength), absence);

export const IsMultilineText = (maxLength: number, absence?: AbsenceOptions): PropertyDecorator =>
  ParsedBy(multilineText(maxLength), absence);

export const IsFilterText = (): PropertyDecorator => IsVerbatimLine(200, { optional: true });

/** Position in a list, as returned with the previous page. */
export const IsCursor = (): PropertyDecorator => ParsedBy(cursor.optional());

/** A text of this format. Errors state what is expected, such as "an email address", never the expression. */
export const MatchesFormat = (
  pattern: RegExp,
  expected: string,
  options: Pick<ValidationOptions, 'each'> = {},
): PropertyDecorator => {
  const subject = options.each === true ? 'each value in $property' : '$property';
  return Matches(pattern, { ...options, message: `${subject} must be ${expected}` });
};

export const IsEmailAddress = (): PropertyDecorator =>
  applyDecorators(Trim(), MatchesFormat(mailAddress, 'an email address'), MaxLength(254));

export const IsPassword = (): PropertyDecorator =>
  applyDecorators(IsString(), MinLength(1), MaxLength(MAX_PASSWORD_LENGTH));

export const IsToken = (): PropertyDecorator => applyDecorators(IsString(), MaxLength(100));

/** The page to continue with; addresses outside the portal are ignored. */
export const IsNextPath = (): PropertyDecorator =>
  applyDecorators(IsOptional(), IsString(), MaxLength(2_000));

export const IsHost = (): PropertyDecorator =>
  applyDecorators(
    ConvertText((text) => text.trim().toLowerCase()),
    IsString(),
    MinLength(4),
    MaxLength(260),
  );

/** A colour of a page; a blank text and other values become null. */
export const IsColour = (): PropertyDecorator =>
  applyDecorators(
    Transform(({ value }: { value: unknown }) =>
      typeof value === 'string' && value.trim() !== '' ? value.trim().toLowerCase() : null,
    ),
    IsOptional(),
    MatchesFormat(/^#[0-9a-f]{6}$/, 'a colour, like #1a2b3c'),
  );

/** The authenticator's response, sent by the browser as JSON. */
export const IsPasskeyCredential = (): PropertyDecorator =>
  applyDecorators(IsString(), MinLength(1), MaxLength(20_000));

/** Text or an object of several parts; the provider's style defines its credentials. */
export const IsProviderSecret = (): PropertyDecorator =>
  ParsedBy(
    new InputField<unknown>({
      schema: { type: ['string', 'object', 'null'] },
      read: (input) => input,
    }).optional(),
  );
