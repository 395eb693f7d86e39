import { Transform } from 'class-transformer';

/** Converts texts and leaves other values to the rules. */
export const ConvertText = (convert: (text: string) => unknown): PropertyDecorator =>
  Transform(({ value }: { value: unknown }) => (typeof value === 'string' ? convert(value) : value));

export const Trim = (): PropertyDecorator => ConvertText((text) => text.trim());

/** Forms repeat the field of a list, and send a single item as a text. */
export const WrapInList = (): PropertyDecorator => ConvertText((text) => [text]);
