import { Field, Misfit, rowId } from '../kernel';

const PUBLIC_ID = /^[0-9A-Za-z]{8}$/;

/** A key that a page is asked for: by its number, or as in links of earlier days by its public id. */
export const keyOfPage: Field<number | string> = new Field({
  schema: rowId.schema,
  read: (given) => {
    const number = rowId.read(given);
    return number instanceof Misfit && typeof given === 'string' && PUBLIC_ID.test(given) ? given : number;
  },
});
