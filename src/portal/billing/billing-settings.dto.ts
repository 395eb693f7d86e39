import { IsOptional, MaxLength, IsLine, MatchesFormat, ParsedBy, Trim } from '../../web';
import { centsWithin } from './amount-field';

export class InvoiceForm {
  @IsLine(200, { optional: true })
  name?: string;

  @IsOptional()
  @Trim()
  @MatchesFormat(/^[^\p{Cc}]*(\r?\n[^\p{Cc}]*){0,5}$/u, 'up to 6 lines without control characters')
  @MaxLength(600)
  address?: string;

  @IsOptional()
  @Trim()
  @MatchesFormat(/^[\w .:/-]*$/, 'letters, digits, spaces and . : / _ -')
  @MaxLength(40)
  tax_id?: string;
}

/** The largest amount with nine digits before the decimal point. */
const MAX_LOW_BALANCE_CENTS = 99_999_999_999n;

export class LowBalanceForm {
  @ParsedBy(centsWithin(0n, MAX_LOW_BALANCE_CENTS))
  low_balance?: unknown;
}
