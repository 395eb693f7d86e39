import { cursor, line } from '../kernel';
import { ParsedBy } from '../platform';

export const IsFilterText = (): PropertyDecorator => ParsedBy(line(200).orBlank());

/** Position in a list, as returned with the previous page. */
export const IsCursor = (): PropertyDecorator => ParsedBy(cursor.optional());
