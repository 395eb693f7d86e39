import { InputField, FieldError, rowId } from '../kernel';

const PUBLIC_ID = /^[0-9A-Za-z]{8}$/;

/** Id of the key that a page shows: its number, or its public id in older links. */
export const keyIdField: InputField<number | string> = new InputField({
  schema: rowId.schema,
  read: (value) => {
    const number = rowId.read(value);
    return number instanceof FieldError && typeof value === 'string' && PUBLIC_ID.test(value)
      ? value
      : number;
  },
});
