import { applyDecorators } from '@nestjs/common';
import { IsISO8601 } from 'class-validator';
import { day, dayOrInstant, FieldError, InputField, moment, momentIn, zone } from '../../kernel';
import { type AbsenceOptions, ParsedBy } from './parsed-by.decorator';
import { ConvertText } from './transforms';

export const IsDay = (absence?: AbsenceOptions): PropertyDecorator => ParsedBy(day, absence);

export const IsDayOrInstant = (absence?: AbsenceOptions): PropertyDecorator =>
  ParsedBy(dayOrInstant, absence);

/** Name of a time zone, such as `Europe/Zurich`. */
export const IsZoneName = (absence?: AbsenceOptions): PropertyDecorator => ParsedBy(zone, absence);

/** A day or a time, as users type it; UTC if it has no zone. */
export const IsMoment = (absence?: AbsenceOptions): PropertyDecorator => ParsedBy(moment, absence);

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

/** A future time, which is UTC if it has no zone. */
export const IsFutureTime = (absence?: AbsenceOptions): PropertyDecorator => ParsedBy(futureTime, absence);

/** A time in ISO 8601, or a day, which is its start in UTC; an empty text becomes null. */
export const IsInstantText = (): PropertyDecorator =>
  applyDecorators(
    ConvertText((text) => (text === '' ? null : momentIn(text).text)),
    IsISO8601({ strict: true }),
  );
