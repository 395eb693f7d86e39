import { Transform } from 'class-transformer';
import { IsMoment, MatchesFormat } from '../../web';
import { ChangeForm } from '../pages/admin.dto';

export class MarkupForm extends ChangeForm {
  /** Percentage added to every price; a discount is negative. */
  @Transform(({ value }: { value: unknown }) =>
    typeof value === 'number'
      ? String(value)
      : typeof value === 'string'
        ? value.trim().replace(',', '.')
        : value,
  )
  @MatchesFormat(
    /^(-(100(\.0{1,4})?|\d{1,2}(\.\d{1,4})?)|\+?(900(\.0{1,4})?|[1-8]?\d{1,2}(\.\d{1,4})?))$/,
    'a percentage from -100 to 900, like 12.5',
  )
  percent: string;

  /** Effective immediately if empty. */
  @IsMoment({ optional: true })
  valid_from?: Date;
}
