import { applyDecorators } from '@nestjs/common';
import { Transform } from 'class-transformer';
import { IsIn, IsInt, IsOptional, IsString, Matches, Max, MaxLength, Min, ValidateBy } from 'class-validator';
import { type Fault, fault, instantIn, type Nano, parseUsd, validationFault } from '../../kernel';
import { IfGiven, IsCursor, IsFilterText } from '../../web';

const LARGEST_ID = 2_147_483_647;
const LONGEST_ADDRESS = 254;

/** Treats an empty form field as absent. */
const blankToNull = ({ value }: { value: unknown }): unknown => (value === '' ? null : value);
const toNumber = ({ value }: { value: unknown }): unknown =>
  typeof value === 'string' && /^\d{1,10}$/.test(value) ? Number(value) : value === '' ? null : value;
const trimmed = ({ value }: { value: unknown }): unknown =>
  typeof value === 'string' ? value.trim() : value;
const flags: Readonly<Record<string, boolean>> = { on: true, true: true, off: false, false: false };
const toFlag = ({ value }: { value: unknown }): unknown =>
  typeof value === 'string' ? (flags[value] ?? value) : value;

export const IsId = (): PropertyDecorator =>
  applyDecorators(Transform(toNumber), IsInt(), Min(1), Max(LARGEST_ID));

/** Absent keeps the owner, null removes it. */
export const IsIdOrNone = (): PropertyDecorator =>
  applyDecorators(IsOptional(), Transform(toNumber), IsInt(), Min(1), Max(LARGEST_ID));

/** A person by number, as programs name one, or by mail address, as people do. */
export type PersonName = number | string;

const isPersonName = (value: unknown): boolean =>
  typeof value === 'number'
    ? Number.isInteger(value) && value >= 1 && value <= LARGEST_ID
    : typeof value === 'string' && value.length <= LONGEST_ADDRESS && /^[^\s@]+@[^\s@]+$/.test(value);

const toPersonName = ({ value }: { value: unknown }): unknown => toNumber({ value: trimmed({ value }) });

/** For a form that no class declares: null for an empty field, undefined for what names no person. */
export function personIn(value: unknown): PersonName | null | undefined {
  const named = toPersonName({ value });
  if (named === null || named === undefined) return null;
  return isPersonName(named) ? (named as PersonName) : undefined;
}

/** Absent keeps the person, null or an empty field removes them. */
export const IsPerson = (): PropertyDecorator =>
  applyDecorators(
    IsOptional(),
    Transform(toPersonName),
    ValidateBy({
      name: 'isEmail',
      validator: {
        validate: isPersonName,
        defaultMessage: () => '$property must be the number or the mail address of a person',
      },
    }),
  );

export const IsLine = (most: number): PropertyDecorator =>
  applyDecorators(Transform(trimmed), IsString(), Matches(/^[^\p{Cc}]+$/u), MaxLength(most));

export const IsChoice = (choices: readonly unknown[]): PropertyDecorator =>
  applyDecorators(IsOptional(), Transform(blankToNull), IsIn(choices as unknown[]));

export const IsFlag = (): PropertyDecorator =>
  applyDecorators(IfGiven(), Transform(toFlag), IsIn([true, false]));

/** A time that is still to come; an empty field is null. A time without a zone is in UTC, as the page says. */
export const IsComing = (): PropertyDecorator =>
  applyDecorators(
    IsOptional(),
    Transform(({ value }: { value: unknown }) =>
      value === '' ? null : typeof value === 'string' ? inUtc(value) : value,
    ),
    ValidateBy({
      name: 'isComing',
      validator: {
        validate: (value: unknown) => (instantIn(value)?.getTime() ?? 0) > Date.now(),
        defaultMessage: () =>
          '$property must be a day or a time that is still to come, like 2027-01-31 or 2027-01-31T12:00:00Z',
      },
    }),
  );

/** Dollars with up to nine decimals, as text or number; empty or null removes a limit. */
export const IsDollars = (): PropertyDecorator =>
  applyDecorators(
    IsOptional(),
    Transform(({ value }: { value: unknown }) =>
      value === '' ? null : typeof value === 'number' ? String(value) : value,
    ),
    LooksLikeDollars(),
  );

/** A type of its own, so that the error text explains the format of an amount. */
export const LooksLikeDollars = (mostDigits = 9): PropertyDecorator =>
  ValidateBy({
    name: 'isDollars',
    validator: {
      validate: (value: unknown) =>
        typeof value === 'string' &&
        /^\d+(\.\d{1,9})?$/.test(value) &&
        value.split('.', 1).every((whole) => whole.length <= mostDigits),
      defaultMessage: () => '$property must be an amount of US dollars, like 12.50',
    },
  });

export const nanoOf = (dollars: string | null | undefined): Nano | null =>
  dollars === null || dollars === undefined ? null : parseUsd(dollars);

/** Fields that every form of a change accepts beside its own. */
export class ChangeForm {
  /** The version of the edited page. */
  @IsOptional()
  @Transform(toNumber)
  @IsInt()
  @Min(1)
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

/** The query of a list: filters and the page. */
export class ListQuery {
  @IsCursor()
  cursor?: string;

  @IsFilterText()
  q?: string;
}

/** A field for a date and a time has no zone: prices change in UTC, and the page says so. */
export const inUtc = (text: string): string => (/T\d\d:\d\d(:\d\d)?$/.test(text) ? `${text}Z` : text);

export const textOf = (text: string | null | undefined): string | null => {
  const given = text?.trim() ?? '';
  return given === '' ? null : given;
};

/** What cannot be undone asks for a name. */
export const unconfirmed = (name: string): Fault =>
  fault('conflict', {
    param: 'confirmation',
    message: `Type ${name} to confirm.`,
    details: { reason: 'confirm-name', name },
  });

/** For a field where absent and empty have different meanings. */
export const missingField = (name: string): Fault =>
  validationFault([{ loc: ['body', name], msg: `${name} is missing; null takes it away.`, type: 'missing' }]);
