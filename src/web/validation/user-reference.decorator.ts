import { FieldError, InputField, rowId } from '../../kernel';
import { ParsedBy } from './parsed-by.decorator';

const MAX_ADDRESS_LENGTH = 254;

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
export const IsUserReference = (): PropertyDecorator => ParsedBy(userReference, { clearable: true });
