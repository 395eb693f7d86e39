import { cursor, line } from '../kernel';
import { Takes } from '../platform';

/** The words that a list is searched for. */
export const IsFilterText = (): PropertyDecorator => Takes(line(200).orBlank());

/** The position of a page in a list, as the page before it gave it. */
export const IsCursor = (): PropertyDecorator => Takes(cursor.optional());
