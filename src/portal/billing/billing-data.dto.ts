import { MIN_TOP_UP_CENTS } from '../../billing';
import { IsCursor, IfPresent, IsFlag, IsWholeNumber, ParsedBy } from '../../web';
import { centsWithin, MAX_CENTS, topUpAmount } from './amount-field';

export class PaymentListQuery {
  @IsWholeNumber(1, 200, { default: 50 })
  limit: number;

  @IsCursor()
  cursor?: string;
}

/** Amounts are read from the raw text; see `centsField`. */
export class AutomaticTopUpForm {
  /** Browsers do not send an unchecked box. */
  @IfPresent()
  @IsFlag()
  enabled?: boolean;

  @IfPresent()
  @ParsedBy(centsWithin(0n, MAX_CENTS))
  threshold?: unknown;

  @IfPresent()
  @ParsedBy(topUpAmount)
  amount?: unknown;

  /** At least the amount and its fee. */
  @IfPresent()
  @ParsedBy(centsWithin(MIN_TOP_UP_CENTS, MAX_CENTS))
  monthly_ceiling?: unknown;
}
