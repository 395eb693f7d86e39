import { applyDecorators } from '@nestjs/common';
import {
  type Fault,
  fault,
  Field,
  filled,
  dollarText,
  Misfit,
  moment,
  momentIn,
  type Nano,
  oneOf,
  parseUsd,
  rowId,
  truth,
  validationFault,
} from '../../kernel';
import { IsOptional, IsString, MaxLength, Takes, ValidateBy } from '../../platform';
import { IsCursor, IsFilterText } from '../../web';

const LONGEST_ADDRESS = 254;

export const IsId = (): PropertyDecorator => Takes(rowId);

/** Absent keeps the owner, null removes it. */
export const IsIdOrNone = (): PropertyDecorator => Takes(rowId.orNone());

/** A person by number, as programs name one, or by mail address, as people do. */
export type PersonName = number | string;

const isMail = (value: unknown): value is string =>
  typeof value === 'string' && value.length <= LONGEST_ADDRESS && /^[^\s@]+@[^\s@]+$/.test(value);

const person: Field<PersonName> = new Field<PersonName>({
  schema: { anyOf: [rowId.schema, { type: 'string', format: 'email', maxLength: LONGEST_ADDRESS }] },
  read(given) {
    const named = typeof given === 'string' ? given.trim() : given;
    const id = rowId.read(named);
    if (!(id instanceof Misfit)) return id;
    return isMail(named)
      ? named
      : new Misfit('isEmail', 'must be the number or the mail address of a person');
  },
});

/** It serves forms that no class declares: null for an empty field, undefined for what names no person. */
export function personIn(value: unknown): PersonName | null | undefined {
  const named = person.orNone().read(typeof value === 'string' ? value.trim() : value);
  return named instanceof Misfit ? undefined : (named ?? null);
}

/** Absent keeps the person, null or an empty field removes them. */
export const IsPerson = (): PropertyDecorator => Takes(person.orNone());

export const IsLine = (most: number): PropertyDecorator => Takes(filled(most));

export const IsLineIfAny = (most: number): PropertyDecorator => Takes(filled(most).orBlank());

export const IsChoice = (choices: readonly string[]): PropertyDecorator => Takes(oneOf(choices).orBlank());

export const IsFlag = (): PropertyDecorator => Takes(truth.optional());

const coming: Field<string> = new Field<string>({
  schema: moment.schema,
  read(given) {
    const { text, at } = momentIn(given);
    return (at?.getTime() ?? 0) > Date.now()
      ? text
      : new Misfit(
          'isComing',
          'must be a day or a time that is still to come, like 2027-01-31 or 2027-01-31T12:00:00Z',
        );
  },
});

/** A time that is still to come; an empty field is null. A time without a zone is in UTC, as the page says. */
export const IsComing = (): PropertyDecorator => Takes(coming.orNone());

/** Dollars with up to nine decimals, as text or number; empty or null removes a limit. */
export const IsDollars = (): PropertyDecorator => Takes(dollarText().orNone());

/** It consists of rules of class-validator, so that the error text explains the format of an amount. */
export const LooksLikeDollars = (mostDigits: number): PropertyDecorator => {
  const amount = dollarText(mostDigits);
  return applyDecorators(
    ValidateBy({
      name: 'isDollars',
      constraints: [amount.schema],
      validator: {
        validate: (value: unknown) => typeof value === 'string' && !(amount.read(value) instanceof Misfit),
        defaultMessage: () => '$property must be an amount of US dollars, like 12.50',
      },
    }),
  );
};

export const nanoOf = (dollars: string | null | undefined): Nano | null =>
  dollars === null || dollars === undefined ? null : parseUsd(dollars);

/** Every form of a change accepts these fields beside its own. */
export class ChangeForm {
  /** The version of the edited page. */
  @Takes(rowId.orNone())
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

export const textOf = (text: string | null | undefined): string | null => {
  const given = text?.trim() ?? '';
  return given === '' ? null : given;
};

/** A form that cannot be undone asks for a name. */
export const unconfirmed = (name: string): Fault =>
  fault('conflict', {
    param: 'confirmation',
    message: `Type ${name} to confirm.`,
    details: { reason: 'confirm-name', name },
  });

/** It serves a field where absent and empty have different meanings. */
export const missingField = (name: string): Fault =>
  validationFault([{ loc: ['body', name], msg: `${name} is missing; null takes it away.`, type: 'missing' }]);
