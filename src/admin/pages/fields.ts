import { applyDecorators } from '@nestjs/common';
import {
  type Fault,
  fault,
  InputField,
  nonEmptyLine,
  dollarText,
  FieldError,
  moment,
  momentIn,
  type Nano,
  oneOf,
  parseUsd,
  rowId,
  trueOrFalse,
  validationFault,
} from '../../kernel';
import { IsOptional, IsString, MaxLength, ParsedBy, ValidateBy } from '../../platform';
import { IsCursor, IsFilterText } from '../../web';

const MAX_ADDRESS_LENGTH = 254;

export const IsId = (): PropertyDecorator => ParsedBy(rowId);

/** Absent keeps the value; null removes it. */
export const IsIdOrNone = (): PropertyDecorator => ParsedBy(rowId.orNone());

/** User number, or email address. */
export type UserReference = number | string;

const isMail = (value: unknown): value is string =>
  typeof value === 'string' && value.length <= MAX_ADDRESS_LENGTH && /^[^\s@]+@[^\s@]+$/.test(value);

const userReference: InputField<UserReference> = new InputField<UserReference>({
  schema: { anyOf: [rowId.schema, { type: 'string', format: 'email', maxLength: MAX_ADDRESS_LENGTH }] },
  read(input) {
    const reference = typeof input === 'string' ? input.trim() : input;
    const id = rowId.read(reference);
    if (!(id instanceof FieldError)) return id;
    return isMail(reference)
      ? reference
      : new FieldError('isEmail', 'must be the number or the mail address of a person');
  },
});

/** Reads a field of a form without a class: null for an empty field, undefined if invalid. */
export function parseUserReference(value: unknown): UserReference | null | undefined {
  const reference = userReference.orNone().read(typeof value === 'string' ? value.trim() : value);
  return reference instanceof FieldError ? undefined : (reference ?? null);
}

/** Absent keeps the user; null or an empty field removes the user. */
export const IsUserReference = (): PropertyDecorator => ParsedBy(userReference.orNone());

export const IsLine = (maxLength: number): PropertyDecorator => ParsedBy(nonEmptyLine(maxLength));

export const IsOptionalLine = (maxLength: number): PropertyDecorator =>
  ParsedBy(nonEmptyLine(maxLength).orBlank());

export const IsChoice = (choices: readonly string[]): PropertyDecorator => ParsedBy(oneOf(choices).orBlank());

export const IsFlag = (): PropertyDecorator => ParsedBy(trueOrFalse.optional());

const futureTime: InputField<string> = new InputField<string>({
  schema: moment.schema,
  read(input) {
    const { text, at } = momentIn(input);
    return (at?.getTime() ?? 0) > Date.now()
      ? text
      : new FieldError(
          'isComing',
          'must be a day or a time that is still to come, like 2027-01-31 or 2027-01-31T12:00:00Z',
        );
  },
});

/** A future time; null if empty, and UTC if it has no zone. */
export const IsFutureTime = (): PropertyDecorator => ParsedBy(futureTime.orNone());

/** Dollars with up to nine decimals as text or number; empty or null removes a limit. */
export const IsDollars = (): PropertyDecorator => ParsedBy(dollarText().orNone());

/** Uses rules of class-validator, so that the error message explains the format of an amount. */
export const IsDollarText = (maxDigits: number): PropertyDecorator => {
  const amount = dollarText(maxDigits);
  return applyDecorators(
    ValidateBy({
      name: 'isDollars',
      constraints: [amount.schema],
      validator: {
        validate: (value: unknown) =>
          typeof value === 'string' && !(amount.read(value) instanceof FieldError),
        defaultMessage: () => '$property must be an amount of US dollars, like 12.50',
      },
    }),
  );
};

export const nanoOf = (dollars: string | null | undefined): Nano | null =>
  dollars === null || dollars === undefined ? null : parseUsd(dollars);

export class ChangeForm {
  @ParsedBy(rowId.orNone())
  version?: number | null;

  @IsOptional()
  @IsString()
  @MaxLength(500)
  reason?: string;
}

export const targetOf = (
  id: number,
  { version, reason }: ChangeForm,
): { id: number; version?: number; reason?: string } => ({
  id,
  ...(typeof version === 'number' ? { version } : {}),
  ...(reason === undefined ? {} : { reason }),
});

export class AdminListQuery {
  @IsCursor()
  cursor?: string;

  @IsFilterText()
  q?: string;
}

export const textOf = (text: string | null | undefined): string | null => {
  const trimmed = text?.trim() ?? '';
  return trimmed === '' ? null : trimmed;
};

export const confirmationRequired = (name: string): Fault =>
  fault('conflict', {
    param: 'confirmation',
    message: `Type ${name} to confirm.`,
    details: { reason: 'confirm-name', name },
  });

/** Error for a field in which absent and empty differ. */
export const missingField = (name: string): Fault =>
  validationFault([{ loc: ['body', name], msg: `${name} is missing; null takes it away.`, type: 'missing' }]);
